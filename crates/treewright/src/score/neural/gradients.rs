//! Tests only: gradients against finite differences.

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
