//! 32-bit settings as people write them: 0.1, and not the 0.10000000149011612 that the same number is in 64 bits.

use serde::{Serialize, Serializer};

/// A number; for `serialize_with`.
pub fn number<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(widened(*value))
}

/// A number that may be missing.
pub fn option<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(widened).serialize(serializer)
}

/// The 64-bit number with the fewest digits that is this one in 32 bits.
fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::super::{Noise, Trainer};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn settings_are_written_with_the_digits_they_were_given_with() {
        let settings = Trainer { lambda: 0.1, clip: Some(0.3), noise: Noise::Gauss(0.7), ..Trainer::default() };
        let value = serde_json::to_value(&settings).unwrap();
        assert_eq!(
            (&value["lambda"], &value["clip"], &value["noise"]["gauss"]),
            (&0.1.into(), &0.3.into(), &0.7.into())
        );
        assert_eq!(serde_json::from_value::<Trainer>(value).unwrap(), settings);
    }

    proptest! {
        #[test]
        fn no_bit_is_lost(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!((widened(value) as f32).to_bits(), bits);
        }
    }
}
