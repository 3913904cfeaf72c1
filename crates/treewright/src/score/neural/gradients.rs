//! Tests only: gradients against finite differences.

/// As [`check`], for some of the numbers that a function depends on.
#[track_caller]
pub(in crate::score) fn check_some(
    all: &[f32],
    gradients: &[f32],
    checked: &[usize],
    mut function: impl FnMut(&[f32]) -> f64,
) {
    let [at, expected] = [all, gradients].map(|of| checked.iter().map(|&i| of[i]).collect::<Vec<f32>>());
    let mut all = all.to_vec();
    check(&at, &expected, 2e-3, |moved| {
        checked.iter().zip(moved).for_each(|(&i, &value)| all[i] = value);
        function(&all)
    });
}

/// Checks each gradient of a function at `at` against the slope between points near it, up to the error of 32-bit numbers,
/// which grows with the values of the function.
#[track_caller]
pub(in crate::score) fn check(
    at: &[f32],
    gradients: &[f32],
    tolerance: f64,
    mut function: impl FnMut(&[f32]) -> f64,
) {
    assert_eq!(at.len(), gradients.len());
    let mut moved = at.to_vec();
    for (i, &gradient) in gradients.iter().enumerate() {
        const STEP: f32 = 1e-2;
        let mut value = |by: f32| {
            moved[i] = at[i] + by;
            let value = function(&moved);
            moved[i] = at[i];
            value
        };
        // Four points, so that the error falls with the fourth power of the step.
        let near = value(STEP) - value(-STEP);
        let far = value(2.0 * STEP) - value(-2.0 * STEP);
        let slope = (8.0 * near - far) / (12.0 * f64::from(STEP));
        let error = (slope - f64::from(gradient)).abs();
        assert!(error < tolerance + 2e-3 * slope.abs(), "number {i}: gradient {gradient}, slope {slope}");
    }
}
