package route

import "time"

// Judge is the passive layer of one placement as the request path sees it. It is safe
// for concurrent use; its methods take a small lock of the placement's own and never
// wait for a probe, a dial or a log.
type Judge interface {
	// Begin takes a ticket for one attempt. It is false while the placement is on trial
	// and the trial is taken: another one must be picked.
	Begin(now time.Time) (Ticket, bool)
	// End gives a ticket back with what the attempt saw. Each ticket must be ended once, on
	// every path. A second End of a trial's ticket does nothing, nor does one of a ticket
	// whose epoch is over; the zero Ticket is nobody's and never counts. Only an outcome
	// that is Late follows the one of the same ticket.
	End(t Ticket, o Outcome, now time.Time)
}

// Ticket is one attempt in the eyes of a Judge.
type Ticket struct {
	// Epoch is that of the placement's passive state: late outcomes are told by it.
	Epoch uint64
	Lease uint64 // of a trial; 0 for none
	// Serial tells the attempts of one placement apart; 0 for those that nobody counts.
	Serial uint64
}

// Gate is the circuit breaker of one entrypoint as the request path sees it. It is
// safe for concurrent use and takes a small lock of its own.
type Gate interface {
	// Enter is asked after a backend was picked. It is false while the breaker is open,
	// or half open with its trial taken; wait is then how long that lasts at least. A lease
	// other than 0 is a trial. What entered must leave, on every path.
	Enter(now time.Time) (lease uint64, wait time.Duration, ok bool)
	// Leave tells what became of it. Void outcomes release a trial and count nothing.
	Leave(lease uint64, o Outcome, now time.Time)
}
