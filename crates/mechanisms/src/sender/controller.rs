//! Interface of congestion controllers.

use super::{Ack, MIN_SSTHRESH, Marks, ModelPath, Pacing, Window};
use crate::mechanism::About;
use crate::parameters::{Parameters, choices};
use crate::price::Encoding;
use crate::units::{Demand, Span, Time};

/// A congestion controller as scenario files know it.
pub trait Sender {
    /// Parameters.
    type Params: Parameters;

    /// Description for the registry.
    const ABOUT: About;

    /// Name in Linux.
    const LINUX_NAME: &'static str = Self::ABOUT.name;

    /// Whether it reacts to marks in proportion to their share: its packets carry ECT(1), the identifier of L4S (RFC
    /// 9331), its receiver echoes every mark, and it requires ECN.
    const IS_SCALABLE: bool = false;

    /// Whether its segments are paced unless the scenario says otherwise.
    const IS_PACED: bool = false;

    /// Pacing rate, if paced, and burst sizes of segmentation offload.
    const PACING: Pacing = Pacing::Linux;

    /// Whether receivers have to report arrival times of segments, for the one-way delay.
    const READS_ONE_WAY_DELAY: bool = false;

    /// Whether it requires ECN, with one reaction per round trip.
    const NEEDS_ECN: bool = false;

    /// Whether it uses the price of its path, which receivers then have to report.
    const READS_PRICES: bool = false;

    /// Whether it pays for congestion with a variable willingness to pay (`willingness_to_pay`).
    const PAYS: bool = false;
}

/// A congestion controller.
pub trait Control: Sender + Sized {
    /// Whether it reduces the window for marks itself, in [`Control::on_marks`]. Otherwise the endpoint does, once per
    /// window of data, to [`Control::ssthresh_on_mark`].
    const LOWERS_FOR_MARKS: bool = false;

    /// Returns the controller of a new connection.
    fn new(params: Self::Params) -> Self;

    /// Sets the encoding of prices. Called before all other methods, and only for controllers that read prices, if the
    /// scenario sets an encoding.
    fn set_price_encoding(&mut self, encoding: Encoding) {
        let _ = encoding;
    }

    /// Sets the willingness to pay, if it pays.
    fn set_willingness(&mut self, willingness: Demand) {
        let _ = willingness;
    }

    /// Returns its estimate of the price of its path, if it uses and knows one.
    fn path_price(&self) -> Option<f64> {
        None
    }

    /// Lets the window grow. Called only outside of loss recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Takes the marks of an ACK, for a scalable controller, before any other processing of the ACK.
    #[inline]
    fn on_marks(&mut self, window: &mut Window, marks: &Marks) {
        let _ = (window, marks);
    }

    /// Returns the new slow-start threshold after an ECN echo: for most controllers a mark equals a loss.
    fn ssthresh_on_mark(&mut self, window: &Window) -> f64 {
        self.ssthresh_on_congestion(window)
    }

    /// Whether the last mark reduced the window by less than a loss does, so that a loss in the same round trip is
    /// answered as well.
    fn mark_weighed_less(&self) -> bool {
        false
    }

    /// Returns the new slow-start threshold after a loss. Called once per window of data and, on the first of
    /// successive timeouts, before [`Control::on_timeout`]. The endpoint sets it, and reduces cwnd to it. By default a
    /// share of the window, [`Control::beta`].
    fn ssthresh_on_congestion(&mut self, window: &Window) -> f64 {
        (self.beta() * window.cwnd).max(MIN_SSTHRESH)
    }

    /// Handles a retransmission timeout; the endpoint has set cwnd to 1, and ssthresh.
    fn on_timeout(&mut self) {}

    /// Handles the end of loss recovery.
    fn on_recovery_exit(&mut self) {}

    /// Handles a transmission with nothing in flight, after a `silence` since the last segment.
    fn on_start(&mut self, silence: Span, now: Time) {
        let _ = (silence, now);
    }

    /// Returns the share of the window kept on a loss (multiplicative decrease factor).
    fn beta(&self) -> f64;

    /// Returns the controller as one that models its path, if it does. The endpoint then leaves window and pacing rate to
    /// it, and takes delivery rate samples for it.
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
            /// Creates the controller of a new connection.
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
            /// Returns the description without parameters.
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

        /// Dispatches to the controller.
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
    bic::Bic(BicParams);
    htcp::Htcp(HtcpParams);
    hybla::Hybla(HyblaParams);
    westwood::Westwood(WestwoodParams);
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
        let _ = (now, in_flight); // unused by the present controllers
        each!(self, own => own.ssthresh_on_congestion(window))
    }

    /// Restarts with one segment after a timeout; the endpoint sets ssthresh.
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
