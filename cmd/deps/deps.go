package deps

import (
	_ "github.com/containerd/errdefs"
	_ "github.com/docker/docker/api/types/container"
	_ "github.com/docker/docker/api/types/events"
	_ "github.com/docker/docker/api/types/filters"
	_ "github.com/docker/docker/api/types/network"
	_ "github.com/docker/docker/client"
	_ "github.com/docker/go-connections/nat"
	_ "github.com/docker/go-connections/tlsconfig"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/gorilla/websocket"
	_ "github.com/rs/zerolog"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/net/http2"
	_ "golang.org/x/net/idna"
)
