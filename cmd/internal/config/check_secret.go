package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// leastKey is the size in bytes from which a key cannot be guessed.
const leastKey = 16

// checkSecrets never shows a value.
func (r *reader) checkSecrets() {
	c := &r.config
	if n := len(c.Sticky.Key); n > 0 && n < leastKey {
		r.contradiction("sticky.key", fmt.Sprintf("has %d bytes: cookies made with it could be guessed", n),
			fmt.Sprintf("give %d bytes or more, such as the output of openssl rand -hex 32", leastKey))
	}
	w := &c.Notify.Webhook
	if w.URL == "" {
		if w.Secret != "" {
			r.contradiction("notify.webhook.secret", "there is nothing to sign without notify.webhook.url", "give the address, or remove the secret")
		}
		return
	}
	u, err := url.Parse(w.URL.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		r.contradiction("notify.webhook.url", "is not an http or https address", "write it in full, such as https://hooks.example.com/fairlead")
	}
}

func (r *reader) checkCertificates() {
	c := &r.config.Certificates
	for _, name := range slices.Sorted(maps.Keys(c.Authorities)) {
		if c.Authorities[name] == "" {
			r.contradiction("certificates.authorities."+name, "no file is named", "give the path of a PEM file")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Clients)) {
		if n := len(strings.Fields(c.Clients[name])); n == 0 {
			r.contradiction("certificates.clients."+name, "no file is named", "give the path of a PEM file with certificate and key, or two paths")
		} else if n > 2 {
			r.contradiction("certificates.clients."+name, fmt.Sprintf("%d files are named, 2 at most", n), "give certificate and key, with a space between them")
		}
	}
}

// ClientFiles are the files of one value of certificates.clients: certificate and key,
// which may be the same.
func ClientFiles(value string) (cert, key string) {
	files := strings.Fields(value)
	if len(files) == 0 {
		return "", ""
	}
	return files[0], files[len(files)-1]
}
