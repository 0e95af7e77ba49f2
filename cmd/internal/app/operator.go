package app

import (
	"fairlead/healthcheck"
	"fairlead/router/route"
)

// operator carries out the orders of people: the health engine does, and the state file
// knows of an order before anybody is told that it is in force.
type operator struct {
	*healthcheck.Engine
	state *stateFile
}

// Order implements api.Operator.
func (o operator) Order(entrypoint, backend string, order route.Order) error {
	if err := o.Engine.Order(entrypoint, backend, order); err != nil {
		return err
	}
	o.state.keep()
	return nil
}

func (a *App) operator() operator { return operator{Engine: a.engine, state: a.state} }
