package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"fairlead/cmd/internal/config"
	"fairlead/provider"
	"fairlead/provider/docker"
	"fairlead/provider/file"
	"fairlead/provider/label"
	"fairlead/router/route"
)

// LabelConfig is what the settings say to the label parser.
func LabelConfig(s *config.Config) label.Config {
	return label.Config{
		Prefix: s.Labels.Prefix, ExposeByDefault: s.Labels.ExposeByDefault,
		CAs: slices.Sorted(maps.Keys(s.Certificates.Authorities)), ClientCerts: slices.Sorted(maps.Keys(s.Certificates.Clients)),
		Tick: s.HealthCheck.Tick,
	}
}

// WithoutDocker is the advice for who has no engine and needs none.
const WithoutDocker = `set providers.docker.enabled=false (--docker "") when you use no containers`

// Docker makes the Docker provider of the settings; it contacts nothing.
func Docker(s *config.Config, containerID string, logs Logs) (*docker.Provider, error) {
	d := &s.Providers.Docker
	retain := time.Duration(d.RetainSeconds) * time.Second
	if retain == 0 {
		retain = -1 // the provider's word for "not at all"
	}
	without := ""
	if s.Providers.File.Path != "" {
		without = WithoutDocker
	}
	return docker.New(docker.Config{
		Without:  without,
		Endpoint: d.Endpoint, CertPath: d.CertPath, TLSVerify: d.TLSVerify, Retain: retain,
		DefaultNetwork: d.DefaultNetwork, Label: LabelConfig(s), ContainerID: containerID, Log: logs.For("docker"),
	})
}

// File makes the file provider for a path; it reads nothing.
func File(s *config.Config, path string, logs Logs) (*file.Provider, error) {
	return file.New(file.Config{Path: path, Label: LabelConfig(s), Strict: s.Strict, Log: logs.For("file")})
}

// Providers makes the enabled providers. With strict a file that is there must be good.
func Providers(s *config.Config, containerID string, logs Logs) ([]provider.Provider, error) {
	var list []provider.Provider
	if s.Providers.Docker.Enabled {
		p, err := Docker(s, containerID, logs)
		if err != nil {
			return nil, fmt.Errorf("providers.docker: %w", err)
		}
		list = append(list, p)
	}
	if s.Providers.File.Path != "" {
		p, err := File(s, s.Providers.File.Path, logs)
		if err != nil {
			return nil, fmt.Errorf("providers.file: %w", err)
		}
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("providers.file: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// knownProviders are all providers of this version, configured or not.
func knownProviders(s *config.Config) []route.ProviderStatus {
	of := func(name string, on bool) route.ProviderStatus {
		return route.ProviderStatus{Name: name, Enabled: on, Configured: on, Phase: route.PhasePending}
	}
	return []route.ProviderStatus{of("docker", s.Providers.Docker.Enabled), of("file", s.Providers.File.Path != "")}
}

// LoadAuthorities reads the PEM files of named certificate authorities.
func LoadAuthorities(files map[string]string) (map[string]*x509.CertPool, error) {
	pools := make(map[string]*x509.CertPool, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(files[name])
		if err != nil {
			return nil, fmt.Errorf("certificates.authorities.%s: %w", name, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("certificates.authorities.%s: %s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", name, files[name])
		}
		pools[name] = pool
	}
	return pools, nil
}

// LoadClients reads the PEM files of named client certificates. Errors hold nothing of a
// key.
func LoadClients(files map[string]string) (map[string]*tls.Certificate, error) {
	pairs := make(map[string]*tls.Certificate, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		cert, key := config.ClientFiles(files[name])
		pair, err := tls.LoadX509KeyPair(cert, key)
		switch {
		case err != nil && cert == key:
			return nil, fmt.Errorf("certificates.clients.%s: %s must hold a certificate and its key in PEM form: %w", name, cert, err)
		case err != nil:
			return nil, fmt.Errorf("certificates.clients.%s: %s must hold a certificate and %s its key in PEM form: %w", name, cert, key, err)
		}
		pairs[name] = &pair
	}
	return pairs, nil
}
