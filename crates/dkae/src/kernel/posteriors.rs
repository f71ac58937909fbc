//! The posteriors of rows under many mixtures, and the kernel P they make: sparse and compact.
//!
//! With one row of F per row of data and one column per component of every mixture,
//!
//! ```text
//! P_ij = 1/M sum_mixtures sum_components F_ic F_jc        M mixtures, so that P_ii <= 1
//! ```
//!
//! In many dimensions most rows belong to one component of a mixture almost surely. So a row keeps, for every mixture,
//! two bytes with the number of the component that owns it, or the word that several share it. Those are in a list: four
//! bytes that name the mixture and how many components share the row, then four bytes for each of them, its number and
//! the posterior as a 16-bit fraction of one. Posteriors that round to zero have no entry. MNIST at Q = G = 30 has about 930 non-zeros
//! out of 13 920 columns, in 2.4 KB a row. The error of a stored posterior is at most 1/131070; docs/method/em.md bounds
//! what that does to P. P itself is never stored.
//!
//! A block of P is computed in tiles. Where rows are owned, P counts in how many mixtures two rows have the same owner:
//! comparisons of short integers, side by side in wide vectors, and a few additions for what is shared. Where most is
//! shared (few features, soft clusters), soft.rs multiplies dense matrices instead.

use std::ops::Range;

use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;

use crate::math::dispatch::dispatched;
use crate::math::threads;

use super::{Prior, soft};

/// One of several posteriors of a row under one mixture, or what precedes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The component's number within its mixture. In a head: the number of the mixture.
    pub(super) number: u16,
    /// The posterior, in units of 1/65535. In a head: how many components follow.
    value: u16,
}

impl Entry {
    /// The stored value that means a posterior of one.
    pub(super) const ONE: f64 = 65535.0;

    /// The posterior of a component, or the head of a list for a mixture.
    pub(super) fn new(number: usize, value: u16) -> Self {
        Self { number: number as u16, value }
    }

    pub(super) fn posterior(self) -> f32 {
        f32::from(self.value) * (1.0 / Self::ONE) as f32
    }
}

/// Takes the next list of a row's entries: the mixture, and the entries of the components that share the row.
#[inline(always)]
pub(super) fn next_list<'a>(entries: &mut &'a [Entry]) -> Option<(usize, &'a [Entry])> {
    let (head, rest) = entries.split_first()?;
    let (shares, rest) = rest.split_at(usize::from(head.value));
    *entries = rest;
    Some((usize::from(head.number), shares))
}

/// In place of an owner: several components share the row. Components are numbered below 2^15.
pub(super) const SHARED: u16 = u16::MAX;
/// On the right-hand side of a comparison beyond the last row: equal to no owner.
const NOBODY: u16 = u16::MAX - 1;
/// On the left-hand side of a comparison where there is no owner: equal to nothing.
const NOTHING: u16 = u16::MAX - 2;

/// Some rows, one after another.
#[derive(Default)]
pub(super) struct Chunk {
    /// For each row and mixture its owner, or [`SHARED`].
    pub(super) owners: Vec<u16>,
    /// The entries of shared rows and mixtures.
    pub(super) entries: Vec<Entry>,
    /// Where the entries of each row end.
    pub(super) ends: Vec<u32>,
}

/// How many rows a chunk has. Chunks are what posteriors are computed and stored in, so nothing is ever moved to grow.
pub(super) const CHUNK: usize = 512;

/// The posteriors of rows under the mixtures of a [`FittedPck`](super::FittedPck): the factor F of P = F F^T / M.
pub struct Posteriors {
    rows: usize,
    /// The first column of each mixture, and the number of columns.
    firsts: Vec<u32>,
    chunks: Vec<Chunk>,
    /// Whether so much is shared that dense products are the faster way.
    soft: bool,
}

/// Rows and columns of a tile at most: what a byte can count. Bounds the scratch memory of [`Posteriors::between`].
pub(super) const TILE: usize = 256;

/// More entries than this per row and mixture, and blocks are dense products. By the operations: a shared entry costs
/// one pass over the columns of the tile, about what eight columns of F cost in a dense product, and a mixture has
/// sixteen on average at the default settings.
const SOFT: f64 = 1.0;

impl Posteriors {
    /// From chunks of [`CHUNK`] rows; `components` are those of each mixture.
    pub(super) fn new(components: impl Iterator<Item = usize>, chunks: Vec<Chunk>) -> Self {
        let mut firsts = vec![0];
        firsts.extend(components.scan(0, |sum, g| {
            *sum += g as u32;
            Some(*sum)
        }));
        let rows = chunks.iter().map(|c| c.ends.len()).sum();
        let shared: usize = chunks.iter().map(|c| c.entries.len()).sum();
        let soft = shared as f64 > SOFT * rows as f64 * (firsts.len() - 1) as f64;
        Self { rows, firsts, chunks, soft }
    }

    /// How many rows F has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns F has: the components of all mixtures.
    pub fn columns(&self) -> usize {
        self.firsts.last().map_or(0, |&c| c as usize)
    }

    /// How many mixtures there are.
    pub fn mixtures(&self) -> usize {
        self.firsts.len() - 1
    }

    /// How many values of F are not zero.
    pub fn non_zeros(&self) -> usize {
        // A shared mixture has no owner, and a head that is no value.
        let shared = |c: &Chunk| c.owners.iter().filter(|&&o| o == SHARED).count();
        self.chunks.iter().map(|c| c.owners.len() + c.entries.len() - 2 * shared(c)).sum()
    }

    /// The memory that F takes.
    pub fn bytes(&self) -> usize {
        self.firsts.len() * size_of::<u32>()
            + self
                .chunks
                .iter()
                .map(|c| c.entries.len() * size_of::<Entry>() + c.owners.len() * 2 + c.ends.len() * 4)
                .sum::<usize>()
    }

    /// The first column of each mixture, and the number of columns.
    pub(super) fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// The owner of each mixture for one row, and the entries of those mixtures that share it.
    #[inline(always)]
    pub(super) fn parts(&self, row: usize) -> (&[u16], &[Entry]) {
        let (chunk, at, m) = (&self.chunks[row / CHUNK], row % CHUNK, self.mixtures());
        let begin = if at == 0 { 0 } else { chunk.ends[at - 1] as usize };
        (&chunk.owners[at * m..(at + 1) * m], &chunk.entries[begin..chunk.ends[at] as usize])
    }

    /// The mixtures of a run that share a row, each with its entries.
    #[inline(always)]
    pub(super) fn shared(&self, row: usize, mixtures: Range<usize>) -> impl Iterator<Item = (usize, &[Entry])> {
        let mut entries = self.parts(row).1;
        std::iter::from_fn(move || next_list(&mut entries))
            .skip_while(move |(mixture, _)| *mixture < mixtures.start)
            .take_while(move |(mixture, _)| *mixture < mixtures.end)
    }

    /// Calls `each` with mixture, component and posterior of the shared entries of a row.
    #[inline(always)]
    fn for_each_shared(&self, row: usize, mut each: impl FnMut(usize, u16, f32)) {
        let mut entries = self.parts(row).1;
        while let Some((mixture, shares)) = next_list(&mut entries) {
            shares.iter().for_each(|entry| each(mixture, entry.number, entry.posterior()));
        }
    }

    /// The columns and posteriors of one row, in ascending order of columns.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (owners, entries) = self.parts(row);
        let mut next = 0;
        owners.iter().zip(&self.firsts).flat_map(move |(&owner, &first)| {
            let shares = match owner {
                SHARED => {
                    let head = next;
                    next += 1 + usize::from(entries[head].value);
                    &entries[head + 1..next]
                }
                _ => &[],
            };
            let owned = (owner != SHARED).then_some((owner, 1.0));
            let shares = shares.iter().map(|entry| (entry.number, entry.posterior()));
            owned.into_iter().chain(shares).map(move |(c, value)| (first as usize + usize::from(c), value))
        })
    }

    /// F / sqrt(M) as a compressed sparse row matrix, so that P is that matrix times its transpose: where each row
    /// begins (one more than there are rows), the columns, and the values.
    pub fn to_csr(&self) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
        let scale = self.scale() as f32;
        let mut begins = vec![0];
        let mut columns = Vec::with_capacity(self.non_zeros());
        let mut values = Vec::with_capacity(columns.capacity());
        for i in 0..self.rows {
            for (column, value) in self.row(i) {
                columns.push(column as u32);
                values.push(value * scale);
            }
            begins.push(columns.len() as u64);
        }
        (begins, columns, values)
    }

    /// What F is multiplied by for P to be F F^T: one over the root of the number of mixtures.
    pub(super) fn scale(&self) -> f64 {
        1.0 / (self.mixtures() as f64).sqrt()
    }

    /// What one mixture counts for in P.
    fn share(&self) -> f32 {
        (1.0 / self.mixtures() as f64) as f32
    }

    /// Writes P between `rows` of these posteriors and `columns` of others under the same mixtures into `out`.
    pub fn between(&self, rows: &[usize], other: &Posteriors, columns: &[usize], mut out: ArrayViewMut2<f32>) {
        assert_eq!(out.dim(), (rows.len(), columns.len()), "shape of out");
        assert_eq!(self.firsts, other.firsts, "both sides are posteriors under the same mixtures");
        if self.soft {
            return threads::run(|| soft::block((self, rows), (other, columns), out));
        }
        let height = height(rows);
        threads::run(|| {
            out.axis_chunks_iter_mut(Axis(0), height).into_par_iter().zip(rows.par_chunks(height)).for_each(
                |(mut out, rows)| {
                    let mut scratch = SCRATCH.take();
                    for (tile, columns) in out.axis_chunks_iter_mut(Axis(1), TILE).zip(columns.chunks(TILE)) {
                        owner_tile((self, rows), (other, columns), &mut scratch, tile);
                    }
                    SCRATCH.set(scratch);
                },
            );
        });
    }

    /// P of some rows, at most [`TILE`] of them: every training step asks for that. As [`between`](Self::between), but what is
    /// the same in both directions is computed in one: half of it in each, and then the sum of the block and its transpose.
    fn within(&self, rows: &[usize], mut out: ArrayViewMut2<f32>) {
        assert_eq!(out.dim(), (rows.len(), rows.len()), "shape of out");
        let height = height(rows);
        threads::run(|| {
            let halves = out.axis_chunks_iter_mut(Axis(0), height).into_par_iter().zip(rows.par_chunks(height));
            halves.for_each(|(mut out, some)| {
                let mut scratch = SCRATCH.take();
                one_way((self, some), (self, rows), &mut scratch, 0.5);
                for (mut out, sums) in out.rows_mut().into_iter().zip(&scratch.sums) {
                    out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = sum);
                }
                SCRATCH.set(scratch);
            });
        });
        let share = self.share();
        for i in 0..rows.len() {
            for j in 0..=i {
                let sum = (out[[i, j]] + out[[j, i]]) * share;
                (out[[i, j]], out[[j, i]]) = (sum, sum);
            }
        }
    }
}

/// Rows of the tiles of a block: a small one is still cut in two for two threads, by its shape alone.
fn height(rows: &[usize]) -> usize {
    rows.len().div_ceil(2).clamp(1, TILE)
}

impl Prior for Posteriors {
    fn len(&self) -> usize {
        self.rows
    }

    fn block(&self, rows: &[usize], columns: &[usize], out: ArrayViewMut2<f32>) {
        if rows == columns && rows.len() <= TILE && !self.soft {
            self.within(rows, out);
        } else {
            self.between(rows, self, columns, out);
        }
    }
}

/// Some rows of some posteriors.
pub(super) type Side<'a> = (&'a Posteriors, &'a [usize]);

/// What a tile needs besides its output; kept by each thread, so that a training step allocates nothing.
#[derive(Default)]
struct Scratch {
    left_owners: Vec<[u16; TILE]>,
    right_owners: Vec<[u16; TILE]>,
    owners: Vec<u16>,
    sums: Vec<[f32; TILE]>,
    transposed: Vec<[f32; TILE]>,
    ends: Vec<u32>,
    lists: Vec<(u8, f32)>,
}

thread_local! {
    // Taken out while in use: a thread that waits may be given another tile meanwhile.
    static SCRATCH: std::cell::Cell<Scratch> = std::cell::Cell::default();
}

dispatched! {
    /// A tile where most rows are owned.
    fn owner_tile(left: Side, right: Side, scratch: &mut Scratch, out: ArrayViewMut2<f32>) {
        owner_tile_body(left, right, scratch, out)
    }
}

#[inline(always)]
fn owner_tile_body(left: Side, right: Side, scratch: &mut Scratch, mut out: ArrayViewMut2<f32>) {
    one_way_body(left, right, scratch, 1.0);
    // Shared on the right, owned on the left.
    let Scratch { left_owners, sums, transposed, .. } = scratch;
    transpose_owners(left, left_owners);
    transposed.clear();
    transposed.resize(right.1.len(), [0.0; TILE]);
    add_shared(right, left_owners, transposed);
    let share = left.0.share();
    for (i, mut out) in out.rows_mut().into_iter().enumerate() {
        for (j, out) in out.iter_mut().enumerate() {
            *out = (sums[i][j] + transposed[j][i]) * share;
        }
    }
}

dispatched! {
    /// Into `scratch.sums` what rows on the left have in common with those on the right, but for what is shared on the right
    /// and owned on the left. `weight` is that of what would be the same the other way round.
    fn one_way(left: Side, right: Side, scratch: &mut Scratch, weight: f32) {
        one_way_body(left, right, scratch, weight)
    }
}

#[inline(always)]
fn one_way_body(left: Side, right: Side, scratch: &mut Scratch, weight: f32) {
    let Scratch { right_owners, owners, sums, ends, lists, .. } = scratch;
    transpose_owners(right, right_owners);
    sums.clear();
    sums.resize(left.1.len(), [0.0; TILE]);

    // Owned on both sides: count equal owners. There are at most 65 535 mixtures.
    owners.clear();
    owners.resize(right_owners.len(), NOTHING);
    for (sums, &row) in sums.iter_mut().zip(left.1) {
        for (owner, &stored) in owners.iter_mut().zip(left.0.parts(row).0) {
            *owner = if stored == SHARED { NOTHING } else { stored };
        }
        let mut counts = [0u16; TILE];
        // Four mixtures at a time, so that counts are loaded and stored less often.
        for (&[a, b, c, d], [e, f, g, h]) in owners.as_chunks().0.iter().zip(right_owners.as_chunks().0) {
            for j in 0..TILE {
                counts[j] += u16::from(e[j] == a) + u16::from(f[j] == b) + u16::from(g[j] == c) + u16::from(h[j] == d);
            }
        }
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = weight * f32::from(count));
    }
    // Shared on the left, owned on the right.
    add_shared(left, right_owners, sums);
    // Shared on both sides: for each column of F the places on the right that have an entry there.
    list_shared(right, ends, lists);
    for (sums, &row) in sums.iter_mut().zip(left.1) {
        left.0.for_each_shared(row, |m, c, value| {
            let column = left.0.firsts[m] as usize + usize::from(c);
            for &(j, other) in &lists[ends[column] as usize..ends[column + 1] as usize] {
                sums[usize::from(j)] += weight * value * other;
            }
        });
    }
}

/// The owners by mixture, for each those of all rows of the side, then nobody; mixtures of nobody make it a multiple of 4.
#[inline(always)]
fn transpose_owners((posteriors, rows): Side, out: &mut Vec<[u16; TILE]>) {
    // Few enough that the lines written to stay in the first cache.
    const MIXTURES: usize = 32;
    out.clear();
    out.resize(posteriors.mixtures().next_multiple_of(4), [NOBODY; TILE]);
    for (block, out) in out.chunks_mut(MIXTURES).enumerate() {
        for (i, &row) in rows.iter().enumerate() {
            let owners = &posteriors.parts(row).0[block * MIXTURES..];
            for (out, &owner) in out.iter_mut().zip(owners) {
                out[i] = owner;
            }
        }
    }
}

/// For each shared entry of a row, adds its posterior wherever the other side is owned by that component.
#[inline(always)]
fn add_shared((posteriors, rows): Side, others: &[[u16; TILE]], sums: &mut [[f32; TILE]]) {
    for (sums, &row) in sums.iter_mut().zip(rows) {
        posteriors.for_each_shared(row, |m, component, value| {
            let others = &others[m];
            for j in 0..TILE {
                sums[j] += if others[j] == component { value } else { 0.0 };
            }
        });
    }
}

/// Sorts the shared entries of the rows by column of F, stably: `lists[ends[c]..ends[c + 1]]` are the places in the rows
/// and the posteriors of column `c`.
fn list_shared((posteriors, rows): Side, ends: &mut Vec<u32>, lists: &mut Vec<(u8, f32)>) {
    ends.clear();
    ends.resize(posteriors.columns() + 2, 0);
    let column = |m: usize, c: u16| posteriors.firsts[m] as usize + usize::from(c);
    // Counted two places ahead: after the sums and the filling, place c is where column c begins.
    for &row in rows {
        posteriors.for_each_shared(row, |m, c, _| ends[column(m, c) + 2] += 1);
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        sum += *end;
        *end = sum;
    }
    lists.clear();
    lists.resize(sum as usize, (0, 0.0));
    for (i, &row) in rows.iter().enumerate() {
        posteriors.for_each_shared(row, |m, c, value| {
            let place = &mut ends[column(m, c) + 1];
            lists[*place as usize] = (i as u8, value);
            *place += 1;
        });
    }
}
