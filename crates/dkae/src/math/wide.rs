//! Plain loops, compiled for the widest vectors the processor has.
//!
//! The crate is built for any processor of its kind, so the compiler turns loops into narrow vector code. [`widest`]
//! compiles the loop it is given once more for each wider instruction set and picks one at run time. No product and sum
//! is fused and no sum reordered by this: every variant gives the same bits.

#![allow(unsafe_code)]

/// A loop to be compiled for several instruction sets. `run`, and everything it calls that should be part of it, must be
/// `#[inline(always)]`: a function of its own is compiled once, for the narrowest.
pub trait Loop {
    /// What the loop gives.
    type Output;

    /// Runs it.
    fn run(self) -> Self::Output;
}

/// Runs `work`, compiled for the widest vectors there are.
pub fn widest<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has the instructions, as was just asked.
            return unsafe { with_avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Squares<'a>(&'a [f32]);

    impl Loop for Squares<'_> {
        type Output = [f32; 16];

        #[inline(always)]
        fn run(self) -> [f32; 16] {
            let mut sums = [0.0; 16];
            for chunk in self.0.chunks_exact(16) {
                for (sum, v) in sums.iter_mut().zip(chunk) {
                    *sum += v * v;
                }
            }
            sums
        }
    }

    #[test]
    fn the_bits_are_those_of_the_plain_loop() {
        let a: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin()).collect();
        assert_eq!(widest(Squares(&a)), Squares(&a).run());
    }
}
