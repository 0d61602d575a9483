//! Web pages: an object, then its embedded objects, then a pause.

use tidegate_mechanisms::parameters::ParameterError;
use tidegate_mechanisms::units::{Bytes, Factor, Span};
use tidegate_mechanisms::{parameters, words};

use super::TrafficParams;

parameters! {
    /// Web pages over TCP (Zimmermann's dissertation, section 5.6.4). The user requests the main object, then the
    /// objects within it, reads, and requests the next page. The number of objects of a page is geometrically
    /// distributed, their sizes have a truncated power tail.
    pub struct Pages {
        /// Mean number of objects of a page, the main object included.
        pub objects: Factor = "6.55",
        /// Mean size of an object.
        pub size: Bytes = "10 kB",
        /// Minimum size of an object.
        pub smallest: Bytes = "100 B",
        /// Maximum size of an object.
        pub largest: Bytes = "10 MB",
        /// Size of a request.
        pub request: Bytes = "300 B",
        /// Order of the requests for the objects of a page.
        pub within: Fetching = "in-turn",
        /// Mean time from the end of a page to the request of the next; exponentially distributed.
        pub off: Span = "500 ms",
    }
    check can_be_read;
}

words! {
    /// Order of the requests for the objects of a page.
    pub enum Fetching {
        /// One after the other, each over a connection of its own.
        InTurn = "in-turn",
        /// All at once, each over a connection of its own.
        AtOnce = "at-once",
    }
}

fn can_be_read(pages: &Pages) -> Vec<ParameterError> {
    let &Pages { objects, size, smallest, largest, request, .. } = pages;
    let mut errors = Vec::new();
    let mut note = |invalid: bool, key, message: String| {
        if invalid {
            errors.push((key, message));
        }
    };
    note(objects.0 < 1.0, "objects", "a page has at least its main object".into());
    note(smallest == Bytes::ZERO, "smallest", "an object has at least 1 B".into());
    note(request == Bytes::ZERO, "request", "has at least 1 B".into());
    let message = format!(
        "no sizes from {} B to {} B have this mean; it has to lie between them",
        smallest.get(),
        largest.get()
    );
    note(size <= smallest || size >= largest, "size", message);
    errors
}

impl TrafficParams for Pages {}
