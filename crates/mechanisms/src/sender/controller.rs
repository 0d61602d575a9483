//! Congestion controllers, behind one door.

use super::{Ack, MIN_SSTHRESH, Marks, ModelPath, Pacing, Window};
use crate::mechanism::About;
use crate::parameters::{Parameters, choices};
use crate::price::Encoding;
use crate::units::{Demand, Span, Time};

/// A congestion controller as scenario files know it.
pub trait Sender {
    /// What can be set.
    type Params: Parameters;

    /// What it is.
    const ABOUT: About;

    /// What Linux calls it.
    const LINUX_NAME: &'static str = Self::ABOUT.name;

    /// Whether it answers to marks in proportion to their share: its packets carry ECT(1), the
    /// identifier of L4S (RFC 9331), its receiver echoes every mark, and it has no use without ECN.
    const IS_SCALABLE: bool = false;

    /// Whether its segments are paced unless the scenario says otherwise.
    const IS_PACED: bool = false;

    /// How its segments are paced where they are, and how large bursts of segmentation offload are.
    const PACING: Pacing = Pacing::Linux;

    /// Whether receivers are to tell when segments arrived, for the one-way delay.
    const READS_ONE_WAY_DELAY: bool = false;

    /// Whether it has no use without ECN, whose marks are answered once a round trip.
    const NEEDS_ECN: bool = false;

    /// Whether it goes by the price of its path, of which receivers are to tell then.
    const READS_PRICES: bool = false;

    /// It offers to pay for congestion, and what it offers may change (`willingness_to_pay`).
    const PAYS: bool = false;
}

/// What a congestion controller does.
pub trait Control: Sender + Sized {
    /// Whether it lowers the window for marks itself, in [`Control::on_marks`]. Otherwise the
    /// endpoint does, once per window of data, to [`Control::ssthresh_on_mark`].
    const LOWERS_FOR_MARKS: bool = false;

    /// For a new connection.
    fn new(params: Self::Params) -> Self;

    /// How prices travel in the scenario. Told before anything else, and only to one that reads them, where the
    /// scenario says so.
    fn set_price_encoding(&mut self, encoding: Encoding) {
        let _ = encoding;
    }

    /// From now on the flow offers so much, if it pays at all.
    fn set_willingness(&mut self, willingness: Demand) {
        let _ = willingness;
    }

    /// What it takes for the price of its path, if it goes by that and knows one.
    fn path_price(&self) -> Option<f64> {
        None
    }

    /// Lets the window grow. Called outside loss recovery only.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Tells a scalable controller what an ACK delivers, before anything else is done about the ACK.
    #[inline]
    fn on_marks(&mut self, window: &mut Window, marks: &Marks) {
        let _ = (window, marks);
    }

    /// The new slow-start threshold after an ECN echo: for most controllers a mark is as a loss.
    fn ssthresh_on_mark(&mut self, window: &Window) -> f64 {
        self.ssthresh_on_congestion(window)
    }

    /// Whether the last mark took less of the window than a loss does, so that a loss in the same round trip is answered
    /// as well.
    fn mark_weighed_less(&self) -> bool {
        false
    }

    /// The new slow-start threshold after a loss: asked once per window of data and, on timeouts,
    /// before [`Control::on_timeout`] the first time in a row. The endpoint sets it, and brings cwnd
    /// down to it. By default a share of the window, [`Control::beta`].
    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        (self.beta() * window.cwnd).max(MIN_SSTHRESH)
    }

    /// The retransmission timer has expired, and cwnd is 1; ssthresh is the endpoint's.
    fn on_timeout(&mut self) {}

    /// Loss recovery is over.
    fn on_recovery_exit(&mut self) {}

    /// With nothing in flight the sender goes on, after a `silence` since the last segment that left.
    fn on_start(&mut self, silence: Span, now: Time) {
        let _ = (silence, now);
    }

    /// The share of the window that is kept on a loss (multiplicative decrease factor).
    fn beta(&self) -> f64;

    /// The same controller as one that models its path, where it does. The endpoint leaves window and pacing rate to it,
    /// and takes samples of the delivery rate for it.
    fn path_model(&self) -> Option<&dyn ModelPath> {
        None
    }

    /// See [`Control::path_model`].
    fn path_model_mut(&mut self) -> Option<&mut dyn ModelPath> {
        None
    }
}

/// One line per congestion controller.
macro_rules! senders {
    (
        $($module:ident::$name:ident($params:ident);)+
    ) => {
        $(use super::$module::{$name, $params};)+

        choices! {
            /// Congestion controller.
            pub enum SenderParams as CongestionControl in Sender by Sender {
                $($name($params);)+
            }
        }

        /// A congestion controller.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)+
        }

        impl Controller {
            /// For a new connection.
            pub fn new(params: SenderParams) -> Self {
                match params {
                    $(SenderParams::$name(params) => Controller::$name($name::new(params)),)+
                }
            }

            /// See [`Sender::IS_SCALABLE`].
            pub const fn is_scalable(&self) -> bool {
                match self {
                    $(Controller::$name(_) => $name::IS_SCALABLE,)+
                }
            }

            /// See [`Control::LOWERS_FOR_MARKS`].
            pub const fn lowers_for_marks(&self) -> bool {
                match self {
                    $(Controller::$name(_) => $name::LOWERS_FOR_MARKS,)+
                }
            }
        }

        impl SenderParams {
            /// What the sender is, parameters apart.
            pub const fn about(&self) -> About {
                match self {
                    $(SenderParams::$name(_) => $name::ABOUT,)+
                }
            }

            /// See [`Sender::LINUX_NAME`].
            pub const fn linux_name(&self) -> &'static str {
                match self {
                    $(SenderParams::$name(_) => $name::LINUX_NAME,)+
                }
            }

            /// See [`Sender::IS_SCALABLE`].
            pub const fn is_scalable(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::IS_SCALABLE,)+
                }
            }

            /// See [`Sender::READS_ONE_WAY_DELAY`].
            pub const fn reads_one_way_delay(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::READS_ONE_WAY_DELAY,)+
                }
            }

            /// See [`Sender::NEEDS_ECN`].
            pub const fn needs_ecn(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::NEEDS_ECN,)+
                }
            }

            /// See [`Sender::PAYS`].
            pub const fn pays(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::PAYS,)+
                }
            }

            /// See [`Sender::READS_PRICES`].
            pub const fn reads_prices(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::READS_PRICES,)+
                }
            }

            /// See [`Sender::IS_PACED`].
            pub const fn is_paced(&self) -> bool {
                match self {
                    $(SenderParams::$name(_) => $name::IS_PACED,)+
                }
            }

            /// See [`Sender::PACING`].
            pub const fn pacing(&self) -> Pacing {
                match self {
                    $(SenderParams::$name(_) => $name::PACING,)+
                }
            }
        }

        /// Does the same with whatever controller it is.
        macro_rules! each {
            ($self:expr, $own:ident => $what:expr) => {
                match $self {
                    $(Controller::$name($own) => $what,)+
                }
            };
        }
    };
}

senders! {
    reno::Reno(RenoParams);
    cubic::Cubic(CubicParams);
    dctcp::Dctcp(DctcpParams);
    prague::Prague(PragueParams);
    vegas::Vegas(VegasParams);
    compound::Compound(CompoundParams);
    ledbat::Ledbat(LedbatParams);
    direct_window::DirectWindow(DirectWindowParams);
    vegas_cp::VegasCp(VegasCpParams);
    sbrm::Sbrm(SbrmParams);
    tcp_rm::TcpRm(TcpRmParams);
    bbr::Bbr(BbrParams);
    bbr3::Bbr3(Bbr3Params);
}

impl Controller {
    /// See [`Control::set_price_encoding`].
    pub fn set_price_encoding(&mut self, encoding: Encoding) {
        each!(self, own => own.set_price_encoding(encoding));
    }

    /// See [`Control::set_willingness`].
    pub fn set_willingness(&mut self, willingness: Demand) {
        each!(self, own => own.set_willingness(willingness));
    }

    /// See [`Control::path_price`].
    pub fn path_price(&self) -> Option<f64> {
        each!(self, own => own.path_price())
    }

    /// See [`Control::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        each!(self, own => own.on_ack(window, ack));
    }

    /// See [`Control::on_marks`].
    pub fn on_marks(&mut self, window: &mut Window, marks: &Marks) {
        each!(self, own => own.on_marks(window, marks));
    }

    /// See [`Control::ssthresh_on_mark`].
    pub fn ssthresh_on_mark(&mut self, window: &Window, now: Time, in_flight: u32) -> f64 {
        let _ = (now, in_flight);
        each!(self, own => own.ssthresh_on_mark(window))
    }

    /// See [`Control::mark_weighed_less`].
    pub fn mark_weighed_less(&self) -> bool {
        each!(self, own => own.mark_weighed_less())
    }

    /// See [`Control::ssthresh_on_congestion`].
    pub fn ssthresh_on_congestion(&mut self, window: &Window, now: Time, in_flight: u32) -> f64 {
        let _ = (now, in_flight); // none of today's controllers asks; delay-based ones will
        each!(self, own => own.ssthresh_on_congestion(window))
    }

    /// Starts over with one segment after a timeout; ssthresh is the endpoint's.
    pub fn on_timeout(&mut self, window: &mut Window, now: Time) {
        let _ = now;
        window.cwnd = 1.0;
        each!(self, own => own.on_timeout());
    }

    /// See [`Control::on_recovery_exit`].
    pub fn on_recovery_exit(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
        each!(self, own => own.on_recovery_exit());
    }

    /// See [`Control::on_start`].
    pub fn on_start(&mut self, silence: Span, now: Time) {
        each!(self, own => own.on_start(silence, now));
    }

    /// See [`Control::beta`].
    pub fn beta(&self) -> f64 {
        each!(self, own => own.beta())
    }

    /// See [`Control::path_model`].
    pub fn path_model(&self) -> Option<&dyn ModelPath> {
        each!(self, own => own.path_model())
    }

    /// See [`Control::path_model`].
    pub fn path_model_mut(&mut self) -> Option<&mut dyn ModelPath> {
        each!(self, own => own.path_model_mut())
    }
}
