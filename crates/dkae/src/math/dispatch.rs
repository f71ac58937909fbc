//! Plain loops, compiled for the widest vectors the processor has.
//!
//! The crate is built for any processor of its kind, so the compiler turns loops into narrow vector code. A function
//! inside `dispatched!` is compiled three times, for AVX-512, for AVX2 and for the baseline of the target, and the
//! choice is made at run time, at each call: one binary serves every machine. Products and sums are rounded separately
//! (no fused multiply-add) and no sum is reordered, so all three give the same bits.

/// Compiles a function for several instruction sets and picks one at run time.
///
/// Everything that the body calls and that should be compiled along with it must be `#[inline(always)]`: a function of
/// its own is compiled once, for the narrowest. A long body is best kept in such a function, where it is formatted like
/// any other.
macro_rules! dispatched {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $output:ty)? $body:block
    ) => {
        $(#[$attribute])*
        // The crate's rule is `unsafe` in `math` only, and it is: every use of the macro has the blocks below.
        #[allow(unsafe_code)]
        $visibility fn $name($($argument: $type),*) $(-> $output)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn plain($($argument: $type),*) $(-> $output)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($argument: $type),*) $(-> $output)? {
                    plain($($argument),*)
                }
                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($argument: $type),*) $(-> $output)? {
                    plain($($argument),*)
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the processor was just asked and has every feature the function is compiled for; its
                    // body is safe code.
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { avx2($($argument),*) };
                }
            }
            plain($($argument),*)
        }
    };
}

pub(crate) use dispatched;

#[cfg(test)]
mod tests {
    #[inline(always)]
    fn squares_body(values: &[f32]) -> [f32; 16] {
        let mut sums = [0.0; 16];
        for chunk in values.chunks_exact(16) {
            for (sum, v) in sums.iter_mut().zip(chunk) {
                *sum += v * v;
            }
        }
        sums
    }

    dispatched! {
        fn squares(values: &[f32]) -> [f32; 16] {
            squares_body(values)
        }
    }

    #[test]
    fn the_bits_are_those_of_the_plain_loop() {
        let values: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin()).collect();
        assert_eq!(squares(&values), squares_body(&values));
    }
}
