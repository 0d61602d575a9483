//! Whose packet a signal falls on, behind one door.

use super::{Aqm, Arrival, Signal};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters, choices};
use crate::units::{Bytes, Time};

/// A way to distinguish customers.
pub trait Differentiate: Sized {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// Whether it has something to do where the AQM never signals.
    const NEEDS_NO_AQM: bool = false;

    /// What is wrong with the parameters where packets have this size: the key, and why.
    fn validate(params: &Self::Params, packet: Bytes) -> Option<ParameterError> {
        let _ = (params, packet);
        None
    }

    /// Before the first packet.
    fn new(params: Self::Params) -> Self;

    /// Judges an arriving packet, for which it has to ask the AQM once, at most. `draw` gives a random
    /// number in [0, 1) and is called only where a verdict is open.
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal;

    /// The packet just judged, of `len` bytes and customer `user`, was lost because the buffer was
    /// full.
    fn on_overflow(&mut self, user: u32, now: Time, len: Bytes) {
        let _ = (user, now, len);
    }

    /// Bytes that it remembers from packet to packet, of all customers seen so far.
    fn state_bytes(&self) -> usize;

    /// Average activity of the packets that have arrived, if it looks at that.
    fn average_activity(&self) -> Option<f64> {
        None
    }
}

/// One line per differentiation.
macro_rules! differentiations {
    ($($module:ident::$name:ident($params:ident);)+) => {
        $(use super::$module::{$name, $params};)+

        /// Whose packet: turns the probability of an average packet into that of this one.
        #[derive(Clone, Debug)]
        pub enum Differentiation {
            /// All packets alike.
            None,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        choices! {
            /// Whom the signals of the AQM fall on.
            pub enum DifferentiationParams as Differentiation in Differentiation by Differentiate {
                /// On all packets alike.
                None = "none";
                $($name($params);)+
            }
        }

        impl DifferentiationParams {
            /// Whether it has something to do where the AQM never signals.
            pub const fn needs_no_aqm(&self) -> bool {
                match self {
                    DifferentiationParams::None => false,
                    $(DifferentiationParams::$name(_) => <$name>::NEEDS_NO_AQM,)+
                }
            }

            /// See [`Differentiate::validate`].
            pub fn validate(&self, packet: Bytes) -> Option<ParameterError> {
                match self {
                    DifferentiationParams::None => None,
                    $(DifferentiationParams::$name(params) => <$name>::validate(params, packet),)+
                }
            }
        }

        impl Differentiation {
            /// The differentiation of these parameters, before the first packet.
            pub fn new(params: DifferentiationParams) -> Self {
                match params {
                    DifferentiationParams::None => Differentiation::None,
                    $(DifferentiationParams::$name(params) => {
                        Differentiation::$name($name::new(params))
                    })+
                }
            }
        }

        /// Does the same with whatever differentiation it is.
        macro_rules! each {
            ($self:expr, none => $none:expr, $own:ident => $what:expr) => {
                match $self {
                    Differentiation::None => $none,
                    $(Differentiation::$name($own) => $what,)+
                }
            };
        }
    };
}

differentiations! {
    abc::Abc(AbcParams);
    icp::Icp(IcpParams);
    afcp::Afcp(AfcpParams);
    aicp_a::AicpA(AicpAParams);
    aicp_b::AicpB(AicpBParams);
}

impl Differentiation {
    /// See [`Differentiate::signal`].
    #[inline(always)]
    pub(super) fn signal(
        &mut self,
        aqm: &mut Aqm,
        arrival: &Arrival,
        draw: impl FnMut() -> f64,
    ) -> Signal {
        each!(
            self,
            none => {
                let p = aqm.probability(arrival);
                aqm.signal(p, draw)
            },
            own => own.signal(aqm, arrival, draw)
        )
    }

    /// See [`Differentiate::on_overflow`].
    pub(super) fn on_overflow(&mut self, user: u32, now: Time, len: Bytes) {
        each!(self, none => (), own => own.on_overflow(user, now, len));
    }

    /// See [`Differentiate::state_bytes`].
    pub fn state_bytes(&self) -> usize {
        each!(self, none => 0, own => own.state_bytes())
    }

    /// See [`Differentiate::average_activity`].
    pub fn average_activity(&self) -> Option<f64> {
        each!(self, none => None, own => own.average_activity())
    }
}
