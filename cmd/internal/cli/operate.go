package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead/api"
	"fairlead/api/client"
	"fairlead/router/route"
)

// exitRefused is the exit code of an order that the router did not carry out.
const exitRefused = 2

// ordering are the flags of an order.
type ordering struct {
	api.OrderBody
	all bool
}

// orderCommands are the commands that give orders about backends.
func (p *program) orderCommands() []*cobra.Command {
	list := []struct {
		action      route.OrderAction
		example     string
		short, long string
	}{
		{
			route.OrderDrain, ` --reason "kernel update" --for 1h`, "Take a backend out of rotation without cutting anything",
			`Takes a backend out of rotation: it gets no new requests, what is in flight and open
WebSockets go on. Clients that a sticky cookie binds to it are served until
drain.timeout, then they move. Probes go on. The answer says how many requests and
tunnels are left, and from when on the container may be stopped. An order in force is
replaced; the answer says whose and which.`,
		},
		{
			route.OrderMaintenance, ` --reason "new disk"`, "Take a backend out of rotation and stop its probes",
			`Takes a backend out of rotation at once, for bound clients too, closes its idle
connections and stops its probes. What is in flight ends as it would.`,
		},
		{
			route.OrderReady, "", "End a drain or a maintenance",
			`Ends a drain or a maintenance. Whether the backend serves then is what its probes and
its provider say now; after a maintenance a probe is made at once and decides.`,
		},
		{
			route.OrderEject, ` --reason "stale answers" --for 5m`, "Eject a backend as failing traffic would",
			`Ejects a backend as real traffic does that fails (passive.failures). With --for it is
ejected until then, or until uneject, whatever its probes say; after it a trial or the
time alone brings it back (passive.recovery). Without, it comes back as one does that
traffic ejected.`,
		},
		{route.OrderUneject, "", "End the ejection of a backend", `Ends the ejection of a backend: it serves at once if its probes say so.`},
	}
	out := make([]*cobra.Command, len(list))
	for i, o := range list {
		out[i] = p.orderCommand(o.action, o.example, o.short, o.long)
	}
	return out
}

const orderHelp = `

ENTRYPOINT is an id such as http_api; fairlead health shows the ids and the backends.
BACKEND is an id, a name, a container or an address; it may be left out when there is
only one. An order needs a user with the role admin: FAIRLEAD_USER and
FAIRLEAD_PASSWORD.

Exit codes: 0 done; 2 refused (it would leave nothing to serve, means nothing now, or
this user may not give it); 3 wrong usage, or no such backend; 4 router not reachable.`

func (p *program) orderCommand(action route.OrderAction, example, short, long string) *cobra.Command {
	o := &ordering{}
	cmd := &cobra.Command{
		Use: string(action) + " ENTRYPOINT [BACKEND]", Short: short, Long: long + orderHelp,
		Example: fmt.Sprintf("  fairlead %s http_api shop-api-1%s", action, example),
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.order(cmd.Context(), action, o, args[0], strings.Join(args[1:], ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Reason, "reason", "", "`TEXT` that says why, shown wherever the state is")
	if action != route.OrderReady && action != route.OrderUneject {
		f.StringVar(&o.For, "for", "", "`DURATION` such as 30m after which it ends by itself")
		f.BoolVar(&o.Force, "force", false, "carry it out even if nothing is left to serve")
	}
	if hasAll(action) {
		f.BoolVar(&o.all, "all", false, "every backend of the entrypoint, later ones included")
	}
	p.asking(cmd)
	return cmd
}

// hasAll reports whether an order can be about every backend: ejections are of one.
func hasAll(action route.OrderAction) bool {
	return action != route.OrderEject && action != route.OrderUneject
}

func (o *ordering) every(action route.OrderAction) everyBackend {
	switch {
	case o.all:
		return asksEvery
	case hasAll(action):
		return mayAskEvery
	}
	return oneOnly
}

// order gives an order and says what became of it.
func (p *program) order(ctx context.Context, action route.OrderAction, o *ordering, id, name string) error {
	if o.all && name != "" {
		return usage("leave out the one or the other", "--all is about every backend, and %s is one", printable(name))
	}
	c, err := p.client()
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := find(ctx, c, id)
	if err != nil {
		return orderNotRead(err)
	}
	b, err := chooseBackend(e, name, o.every(action))
	if err != nil {
		return err
	}
	if o.all {
		o.Scope = string(route.ScopeService)
	}
	after, err := c.Order(ctx, e.ID, b.ID, action, o.OrderBody)
	if err != nil {
		return orderFailed(err, action)
	}
	list := []api.BackendHealth{*after}
	if o.all {
		if list, err = c.Backends(ctx, e.ID); err != nil {
			return asked(err)
		}
	}
	if p.json && !o.all {
		return p.writeJSON(after)
	} else if p.json {
		return p.writeJSON(list)
	}
	e = cleaned(e)
	was := map[string]*api.BackendHealth{}
	for i := range e.BackendHealth {
		was[e.BackendHealth[i].ID] = &e.BackendHealth[i]
	}
	for _, b := range cleaned(list) {
		p.printOrdered(e, &b, was[b.ID])
	}
	return nil
}

// orderNotRead is what it means for an order that its entrypoint could not be read: one
// that the router does not let in is refused, as it would be for the order itself.
func orderNotRead(err error) error {
	f, ok := errors.AsType[*failure](err)
	if ok && f.denied {
		f.code, f.fix = exitRefused, needsAdmin
	}
	return err
}

// needsAdmin is what to do about an order that somebody else may give.
const needsAdmin = "set FAIRLEAD_USER and FAIRLEAD_PASSWORD to a user with the role admin"

// orderFailed turns the router's refusal into what it means for a run.
func orderFailed(err error, action route.OrderAction) error {
	status, ok := statusOf(err)
	switch {
	case !ok:
		return asked(err)
	case client.IsRefusal(err):
		f := &failure{code: exitRefused, message: printable(status.Message)}
		switch status.Code {
		case api.CodeUnauthorized, api.CodeForbidden:
			f.fix = needsAdmin
		case string(route.OrderWouldEmpty):
			f.fix = "fairlead " + string(action) + " ... --force carries it out all the same"
		}
		return f
	case status.Field != "":
		return usage("", "--%s: %s", printable(status.Field), printable(status.Message))
	case client.IsNotFound(err):
		return usage("it may have left a moment ago: fairlead health shows what there is", "%s", printable(status.Message))
	}
	return asked(err)
}
