//! The kernel of the settings: a name or a table, changed by the flags.

use anyhow::Result;
use dkae::Error;
use dkae::kernel::{KernelSpec, Part, Sum};
use serde::Deserialize;

use super::{put, set};
use crate::flags::KernelFlags;

impl KernelFlags {
    /// Changes `spec` by what was given.
    pub fn apply(&self, spec: &mut KernelSpec) -> Result<()> {
        if let Some(name) = &self.kernel {
            *spec = keeping(name.parse()?, spec);
        }
        self.tune(spec)?;
        self.refuse_idle(spec)
    }

    /// Takes the settings of a kernel, and of every kernel in a sum.
    fn tune(&self, spec: &mut KernelSpec) -> Result<()> {
        match spec {
            KernelSpec::Pck(pck) => {
                put(&mut pck.restarts, self.restarts);
                put(&mut pck.max_components, self.max_components);
                put(&mut pck.subset, self.subset);
                put(&mut pck.covariance, parse_name("covariance", self.covariance.as_deref())?);
                put(&mut pck.tolerance, self.tolerance);
                put(&mut pck.max_iterations, self.max_iterations);
                put(&mut pck.start, parse_name("start", self.start.as_deref())?);
                put(&mut pck.floor, self.floor.as_deref().map(str::parse).transpose()?);
            }
            KernelSpec::Rbf(rbf) => {
                put(&mut rbf.width, self.rbf_width.as_deref().map(str::parse).transpose()?);
            }
            KernelSpec::Polynomial(polynomial) => {
                put(&mut polynomial.degree, self.degree);
                set(&mut polynomial.gamma, self.gamma);
                put(&mut polynomial.offset, self.offset);
            }
            KernelSpec::Sum(sum) => sum.parts.iter_mut().try_for_each(|part| self.tune(&mut part.kernel))?,
            _ => {}
        }
        Ok(())
    }

    /// A flag of another kernel would have no effect, which nobody means.
    fn refuse_idle(&self, spec: &KernelSpec) -> Result<()> {
        let has = |kind: fn(&KernelSpec) -> bool| kernels(spec).into_iter().any(kind) && self.prior.is_none();
        let pck = [
            ("restarts", self.restarts.is_some()),
            ("max-components", self.max_components.is_some()),
            ("subset", self.subset.is_some()),
            ("covariance", self.covariance.is_some()),
            ("floor", self.floor.is_some()),
            ("start", self.start.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("max-iterations", self.max_iterations.is_some()),
        ];
        let polynomial =
            [("degree", self.degree.is_some()), ("gamma", self.gamma.is_some()), ("offset", self.offset.is_some())];
        let of_kinds = [
            ("pck", has(|spec| matches!(spec, KernelSpec::Pck(_))), &pck[..]),
            ("rbf", has(|spec| matches!(spec, KernelSpec::Rbf(_))), &[("rbf-width", self.rbf_width.is_some())]),
            ("polynomial", has(|spec| matches!(spec, KernelSpec::Polynomial(_))), &polynomial),
        ];
        for (kernel, _, flags) in of_kinds.into_iter().filter(|(_, there, _)| !there) {
            if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
                return Err(Error::setting(flag, format!("is a setting of --kernel {kernel}")).into());
            }
        }
        Ok(())
    }
}

/// The kernel itself, or those that it is a sum of.
pub fn kernels(spec: &KernelSpec) -> Vec<&KernelSpec> {
    match spec {
        KernelSpec::Sum(sum) => sum.parts.iter().flat_map(|part| kernels(&part.kernel)).collect(),
        kernel => vec![kernel],
    }
}

/// The kernel that was named; the kinds that the settings file has already keep the file's settings.
fn keeping(named: KernelSpec, file: &KernelSpec) -> KernelSpec {
    match named {
        KernelSpec::Sum(Sum { parts }) => {
            let keep = |part: Part| Part { kernel: keeping(part.kernel, file), ..part };
            KernelSpec::Sum(Sum { parts: parts.into_iter().map(keep).collect() })
        }
        named => {
            let same = |kernel: &&KernelSpec| std::mem::discriminant(*kernel) == std::mem::discriminant(&named);
            kernels(file).into_iter().find(same).cloned().unwrap_or(named)
        }
    }
}

/// A name as settings files write it.
fn parse_name<T: for<'a> Deserialize<'a>>(flag: &'static str, name: Option<&str>) -> Result<Option<T>> {
    let parse = |name: &str| serde_json::from_value(name.into());
    // The message of an unknown variant lists the known ones.
    Ok(name.map(parse).transpose().map_err(|e| Error::setting(flag, e.to_string()))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use dkae::kernel::{Pck, Rbf, Width};

    #[test]
    fn a_flag_names_a_kernel_and_the_file_its_settings() {
        let file = "[kernel.pck]\nsubset = 77\n";
        let with = |flags: KernelFlags| {
            let mut spec = Settings::parse(file).unwrap().0.recipe.kernel;
            flags.apply(&mut spec).map(|()| spec)
        };
        let named = |name: &str| KernelFlags { kernel: Some(name.into()), ..KernelFlags::default() };
        let pck = KernelSpec::Pck(Pck { subset: 77, restarts: 3, ..Pck::default() });
        let flags = KernelFlags { restarts: Some(3), rbf_width: Some("2".into()), ..named("0.5*pck+rbf") };
        let rbf = KernelSpec::Rbf(Rbf { width: Width::Value(2.0), ..Rbf::default() });
        let parts = vec![Part { weight: 0.5, kernel: pck }, Part { weight: 1.0, kernel: rbf }];
        assert_eq!(with(flags).unwrap(), KernelSpec::Sum(Sum { parts }));
        assert_eq!(with(named("linear")).unwrap(), KernelSpec::Linear);
        let idle = with(KernelFlags { degree: Some(2), ..named("pck+rbf") }).unwrap_err().to_string();
        assert!(idle.contains("degree"), "{idle}");
    }
}
