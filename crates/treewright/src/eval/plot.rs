//! Curves as SVG: one line per parser, one point per group.

use std::fmt::Write;

use crate::draw::Escaped;

/// One parser's points: a value per group, or none where the group is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The parser's name.
    pub name: String,
    /// In the order of the groups.
    pub values: Vec<Option<f64>>,
}

/// What to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above the drawing.
    pub title: String,
    /// Under the horizontal axis.
    pub x_title: String,
    /// Beside the vertical axis.
    pub y_title: String,
    /// The groups, from left to right.
    pub groups: Vec<String>,
    /// Are the groups ordered, so that lines may join them?
    pub joined: bool,
    /// The parsers.
    pub series: Vec<Series>,
}

/// Colours that stay apart for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 84.0;
/// Distances between the marks of the axis.
const STEPS: [f64; 7] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, MAX_STEP];
const MAX_STEP: f64 = 25.0;
/// The axis has at most this many of them.
const MAX_STEPS: usize = 6;

/// Text that may stand in XML.
fn escape(text: &str) -> String {
    Escaped(&text.replace(char::is_control, " ")).to_string()
}

impl Plot {
    /// The marks on the axis, from the lowest to the highest: multiples of a round number with all points between them.
    fn marks(&self) -> Vec<f64> {
        let values = || self.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let least = least.min(most);
        let n_steps = |step: f64| ((most / step).ceil() - (least / step).floor()).max(1.0) as usize;
        let step = STEPS.into_iter().find(|&step| n_steps(step) <= MAX_STEPS).unwrap_or(MAX_STEP);
        // One value alone, at a mark, gets some room above; at the top of the scale, below.
        let first = ((least / step).floor() * step).min(100.0 - step).max(0.0);
        (0..=n_steps(step)).map(|i| first + i as f64 * step).collect()
    }

    /// The drawing as an SVG document.
    pub fn svg(&self) -> String {
        let inner_width = (self.groups.len() as f64 * 44.0).max(400.0);
        let (right, bottom) = (LEFT + inner_width, HEIGHT - BOTTOM);
        let legend = self.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
        let width = right + 40.0 + 7.5 * legend as f64 + 30.0;
        let marks = self.marks();
        let (floor, ceiling) = (marks[0], marks[marks.len() - 1]);
        let digits = if marks.iter().all(|mark| mark.fract() == 0.0) { 0 } else { 1 };
        let x = |i: usize| LEFT + inner_width * (i as f64 + 0.5) / self.groups.len().max(1) as f64;
        let y = |value: f64| bottom - (value - floor) / (ceiling - floor) * (bottom - TOP);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {HEIGHT:.0}\" width=\"{width:.0}\" \
             height=\"{HEIGHT:.0}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            escape(&self.title)
        );
        let mut add = |line: String| writeln!(out, "{line}").expect("text grows");
        add(format!("<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>", escape(&self.title)));
        for mark in marks {
            let at = y(mark);
            add(format!(
                "<line x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>"
            ));
            let (x, y) = (LEFT - 8.0, at + 4.0);
            add(format!("<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{mark:.digits$}</text>"));
        }
        for (i, group) in self.groups.iter().enumerate() {
            let (x, y) = (x(i), bottom + 16.0);
            add(format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" transform=\"rotate(-35 {x:.1} {y:.1})\">{}</text>",
                escape(group)
            ));
        }
        let (middle_x, middle_y) = (LEFT + inner_width / 2.0, (TOP + bottom) / 2.0);
        let under = HEIGHT - 10.0;
        add(format!(
            "<text x=\"{middle_x:.1}\" y=\"{under}\" text-anchor=\"middle\">{}</text>",
            escape(&self.x_title)
        ));
        add(format!(
            "<text x=\"18\" y=\"{middle_y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {middle_y:.1})\">{}</text>",
            escape(&self.y_title)
        ));
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let points: Vec<(f64, f64)> = series
                .values
                .iter()
                .enumerate()
                .filter_map(|(i, value)| value.map(|v| (x(i), y(v))))
                .collect();
            if self.joined && points.len() > 1 {
                let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let list = list.join(" ");
                add(format!(
                    "<polyline points=\"{list}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                ));
            }
            for (value, (x, y)) in series.values.iter().flatten().zip(&points) {
                add(format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{value:.2}</title></circle>"
                ));
            }
            let (x, y) = (right + 24.0, TOP + 8.0 + 20.0 * i as f64);
            add(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"));
            add(format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 12.0, y + 4.0, escape(&series.name)));
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(values: &[Option<f64>], joined: bool) -> Plot {
        Plot {
            title: "F1 & <more>".into(),
            x_title: "length".into(),
            y_title: "F1".into(),
            groups: (0..values.len()).map(|i| i.to_string()).collect(),
            joined,
            series: vec![Series { name: "a \"b\"".into(), values: values.to_vec() }],
        }
    }

    #[test]
    fn one_mark_per_value_and_no_line_between_labels() {
        let svg = plot(&[Some(80.0), None, Some(95.5)], true).svg();
        assert_eq!((svg.matches("<title>").count(), svg.matches("<polyline").count()), (1 + 2, 1));
        assert!(
            svg.contains("F1 &amp; &lt;more&gt;")
                && svg.contains("a &quot;b&quot;")
                && svg.contains("<title>95.50")
        );
        assert!(!plot(&[Some(80.0), Some(90.0)], false).svg().contains("<polyline"));
    }

    #[test]
    fn the_axis_is_as_long_as_the_points_need() {
        let marks = |values: &[f64]| {
            let values: Vec<_> = values.iter().map(|&value| Some(value)).collect();
            plot(&values, true).marks()
        };
        assert_eq!(marks(&[84.2, 86.9, 87.4]), [84.0, 85.0, 86.0, 87.0, 88.0]);
        assert_eq!(marks(&[87.1, 87.4]), [87.0, 87.5]);
        assert_eq!(marks(&[3.0, 97.0]), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(marks(&[100.0]), [99.5, 100.0]);
        assert_eq!(marks(&[0.0]), [0.0, 0.5]);
        assert_eq!(marks(&[]), [0.0, 0.5]);
    }

    #[test]
    fn every_point_lies_within_the_frame() {
        for values in [vec![Some(0.0), Some(100.0)], vec![Some(99.0)], vec![None], vec![]] {
            let svg = plot(&values, true).svg();
            for part in svg.split("cy=\"").skip(1) {
                let y: f64 = part[..part.find('"').expect("closed")].parse().expect("a number");
                assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{y}");
            }
        }
    }
}
