package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// staticFolder is where assets are served; below it is a folder whose name changes with
// any of them, so that browsers may keep them for ever.
const staticFolder = "static"

// assets are the static files, read once.
type assets struct {
	version string
	files   map[string][]byte
}

// newAssets panics when the embedded files cannot be read: the build is broken then.
func newAssets() *assets {
	a := &assets{files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(staticFiles, staticFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		short := strings.TrimPrefix(name, staticFolder+"/")
		a.files[short] = text
		_, _ = sum.Write([]byte(short + "\x00" + strconv.Itoa(len(text)) + "\x00"))
		_, _ = sum.Write(text)
		return nil
	})
	if err != nil {
		panic(err)
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a
}

// path is where an asset is, below the mount.
func (a *assets) path() string { return staticFolder + "/" + a.version + "/" }

// serve sends the asset "version/name".
func (a *assets) serve(w http.ResponseWriter, r *http.Request, rest string) {
	version, name, _ := strings.Cut(rest, "/")
	text, ok := a.files[name]
	if !ok || version != a.version || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kindOf(name))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
}

// kindOf does not ask the system's table of types, which differs between machines.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
