//! Numbers that look random and come again with the same seed (splitmix64).

pub(super) struct Random(u64);

impl Random {
    /// One source for each round of a seed.
    pub(super) fn of(seed: u64, round: u64) -> Self {
        let mut first = Self(seed);
        Self(first.next() ^ round.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `from` to before `to`.
    pub(super) fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.within(0, all.len() as u64)).expect("small")]
    }
}
