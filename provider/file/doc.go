// Package file reads entrypoints from a YAML or JSON file in Sōzune's shape and
// watches it. A file with a mistake in its form is refused as a whole and the
// entrypoints that were read before stay; a mistake in a value costs the one
// entrypoint alone and is said in the words that labels have for it.
//
// The work is split so that all but Provider.Run and the reading itself are pure
// functions: text to document (decode), document to entrypoints (build).
package file
