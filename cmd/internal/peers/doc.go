// Package peers holds tests only: what the documents of other routers and health
// checkers promise, each as labels of ours and the outcome that their users expect. The
// whole router runs in them, from labels to the client's answer, over a network in
// memory and in virtual time.
package peers
