package api

import (
	"reflect"

	"fairlead/router/route"
)

// orderOperations is the contract of orders.
func orderOperations() map[string]operation {
	const path = "POST /entrypoints/{id}/backends/{bid}/"
	out := map[string]operation{
		path + "probe": {
			body: reflect.TypeFor[ProbeBody](), answers: map[int]reflect.Type{200: reflect.TypeFor[Probe]()},
			refuses: []int{400, 409, 415, 504}, about: "At most one a second for each backend, else 429 with Retry-After.",
		},
	}
	for _, a := range []route.OrderAction{route.OrderDrain, route.OrderMaintenance, route.OrderReady, route.OrderEject, route.OrderUneject} {
		out[path+string(a)] = operation{
			body: reflect.TypeFor[OrderBody](), answers: map[int]reflect.Type{200: reflect.TypeFor[BackendHealth]()},
			refuses: []int{400, 409, 415, 422},
			about:   "The answer is the backend's health after the order. 409 with the code would_empty: nothing that may serve would be left; force carries it out.",
		}
	}
	return out
}
