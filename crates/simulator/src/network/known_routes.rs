//! Routes that a network has, so that flows with the same steps share them.

use core::hash::{Hash, Hasher};

use crate::number_map::{NumberHasher, NumberMap};
use crate::topology::Hop;

/// Where the steps of routes are among those of the network.
pub struct KnownRoutes {
    /// For each link, a route that begins or ends with it. In a large network most links are the first or last of one.
    of_links: Vec<Place>,
    /// Further routes, by the hash of their steps.
    others: NumberMap<u64, Place>,
}

/// Number of the first step, and how many steps there are: none where there is no route.
type Place = (u32, u32);

impl KnownRoutes {
    /// No route yet of a network with this many links.
    pub fn of_none(links: usize) -> Self {
        KnownRoutes { of_links: vec![(0, 0); links], others: NumberMap::default() }
    }

    /// Returns the number of the first step of a route, and whether it is new and was added to `all`. `chains` has the
    /// stages of each step, and nothing in a network without stages; the same holds of `all_chains`.
    pub fn enter(
        &mut self,
        (hops, chains): (&[Hop], &[u32]),
        (all, all_chains): (&mut Vec<Hop>, &mut Vec<u32>),
    ) -> (u32, bool) {
        let next = (all.len() as u32, hops.len() as u32);
        let is_at = |(first, len): Place| {
            let known = first as usize..(first + len) as usize;
            all.get(known.clone()) == Some(hops)
                && (chains.is_empty() || all_chains.get(known) == Some(chains))
        };
        // A route is at the first of these places that had none when it was added.
        let links = [hops[0].link, hops[hops.len().saturating_sub(2)].link];
        let mut place = None;
        for slot in links {
            let known = self.of_links[slot as usize];
            if known.1 == 0 {
                place = Some(&mut self.of_links[slot as usize]);
                break;
            }
            if is_at(known) {
                return (known.0, false);
            }
        }
        let place = place.unwrap_or_else(|| {
            let mut hasher = NumberHasher::default();
            (hops, chains).hash(&mut hasher);
            self.others.entry(hasher.finish()).or_default()
        });
        if place.1 > 0 && is_at(*place) {
            return (place.0, false);
        }
        // The second of two routes with the same hash is not shared.
        *place = if place.1 == 0 { next } else { *place };
        all.extend(hops);
        all_chains.extend(chains);
        (next.0, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::NextHop;

    fn hops(links: &[u32]) -> Vec<Hop> {
        let hop = |link: &u32| Hop {
            link: *link,
            staged: false,
            leads_train: false,
            then: NextHop::Event,
        };
        links.iter().map(hop).collect()
    }

    #[test]
    fn routes_with_the_same_steps_are_one() {
        let (mut known, mut all, mut chains) = (KnownRoutes::of_none(4), vec![], vec![]);
        let mut enter = |links: &[u32], stages: &[u32]| {
            known.enter((&hops(links), stages), (&mut all, &mut chains))
        };
        let routes: [(&[u32], &[u32]); 6] = [
            (&[1, 2], &[7, 7]),
            (&[1, 2, 3], &[7, 7, 7]),
            (&[1, 2], &[7, 8]),
            (&[1, 2, 2], &[7, 8, 9]),
            (&[2, 1], &[7, 7]),
            (&[1, 3, 2], &[7, 7, 7]),
        ];
        let firsts: Vec<u32> =
            routes.iter().map(|(links, stages)| enter(links, stages).0).collect();
        assert_eq!(firsts, [0, 2, 5, 7, 10, 12]);
        for ((links, stages), first) in routes.iter().zip(firsts) {
            assert_eq!(enter(links, stages), (first, false));
        }
        assert_eq!((all.len(), chains.len()), (15, 15));
    }
}
