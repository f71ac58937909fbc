//! The figures of `dkae`, as SVG and PNG.
//!
//! Plain data in (arrays, slices, strings), a [`Figure`] out: picture grids ([`images`]), kernel matrices ([`kernel`]),
//! line charts ([`curves`]), bars ([`bars`]), dots ([`dots`]), 2-D maps ([`scatter`]), and several of these on one sheet
//! ([`panel`]). All share one [`theme`]. [`page`] puts what a model learned into one HTML file. Nothing here trains, prints
//! or opens a window.
//!
//! The SVG is written by hand. A plotting crate would give axes and lines, but not what these figures are made of:
//! class labels at the curves' ends and the classes' medians, pixel-exact pictures, kernels with class edges. And
//! hand-written text keeps two promises simple: the same input gives the same bytes, and every string that came from
//! data is escaped in one place. No element carries an `id`, so that several figures can stand in one page.
//!
//! ```
//! use dkae_report::curves::{Axis, Curves, Series};
//! let epochs = [1.0, 2.0, 3.0];
//! let figure = Curves { x: Axis::new("epoch"), y: Axis::new("reconstruction loss").log(), ..Curves::default() }.draw(&[
//!     Series::new("train", &epochs, &[0.09, 0.04, 0.02], 0),
//!     Series::new("validation", &epochs, &[0.10, 0.05, 0.03], 0).dashed(),
//! ])?;
//! assert!(figure.svg().starts_with("<svg"));
//! # Ok::<(), dkae_report::Error>(())
//! ```

pub mod bars;
pub mod curves;
pub mod dots;
mod error;
mod figure;
pub mod images;
pub mod kernel;
mod letters;
pub mod page;
pub mod panel;
pub mod scatter;
mod svg;
mod text;
pub mod theme;
pub mod ticks;

pub use error::{Error, Result};
pub use figure::Figure;
