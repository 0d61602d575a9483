//! Interface of differentiations, which determine the packets that signals fall on.

use super::{Aqm, Arrival, Signal};
use crate::mechanism::About;
use crate::parameters::{ParameterError, Parameters, choices};
use crate::units::{Bytes, Time};

/// A method to differentiate customers.
pub trait Differentiate: Sized {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Whether it has an effect on an AQM that never signals.
    const NEEDS_NO_AQM: bool = false;

    /// Returns the error of the parameters for packets of this size: the key, and the reason.
    fn validate(params: &Self::Params, packet: Bytes) -> Option<ParameterError> {
        let _ = (params, packet);
        None
    }

    /// Returns the differentiation before the first packet.
    fn new(params: Self::Params) -> Self;

    /// Judges an arriving packet, for which it queries the AQM at most once. `draw` returns a random number in [0, 1)
    /// and is called only if a verdict is open.
    fn signal(&mut self, aqm: &mut Aqm, arrival: &Arrival, draw: impl FnMut() -> f64) -> Signal;

    /// Handles the loss of the packet just judged, of `len` bytes and customer `user`, because the buffer was full.
    fn on_overflow(&mut self, user: u32, now: Time, len: Bytes) {
        let _ = (user, now, len);
    }

    /// Returns the size of its per-packet state, for all customers seen so far, bytes.
    fn state_bytes(&self) -> usize;

    /// Returns the average activity of arriving packets, if it uses activity.
    fn average_activity(&self) -> Option<f64> {
        None
    }
}

/// Declares the differentiations, one line each.
macro_rules! differentiations {
    ($($module:ident::$name:ident($params:ident);)+) => {
        $(use super::$module::{$name, $params};)+

        /// Differentiation: turns the probability of an average packet into that of a given one.
        #[derive(Clone, Debug)]
        pub enum Differentiation {
            /// All packets alike.
            None,
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        choices! {
            /// Differentiation: whose packets the AQM's signals fall on.
            pub enum DifferentiationParams as Differentiation in Differentiation by Differentiate {
                /// All packets alike.
                None = "none";
                $($name($params);)+
            }
        }

        impl DifferentiationParams {
            /// Whether it has an effect on an AQM that never signals.
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
            /// Returns the differentiation of these parameters, before the first packet.
            pub fn new(params: DifferentiationParams) -> Self {
                match params {
                    DifferentiationParams::None => Differentiation::None,
                    $(DifferentiationParams::$name(params) => {
                        Differentiation::$name($name::new(params))
                    })+
                }
            }
        }

        /// Dispatches to the differentiation.
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
