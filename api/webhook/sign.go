package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Headers of a notice.
const (
	// HeaderTimestamp is when this attempt was made, in epoch seconds.
	HeaderTimestamp = "Fairlead-Timestamp"
	// HeaderSignature is v1= and the signature; it is absent without a secret.
	HeaderSignature = "Fairlead-Signature"
	// HeaderDelivery is the same for all attempts of one notice, and of no other.
	HeaderDelivery = "Fairlead-Delivery"
)

// Sign returns the signature of a body that is sent at a timestamp (the value of
// HeaderTimestamp): v1= and, in hexadecimal, the HMAC-SHA256 (RFC 2104) of the timestamp,
// a point and the body. A receiver checks it so, in Python:
//
//	stamp = request.headers["Fairlead-Timestamp"]
//	want = "v1=" + hmac.new(SECRET, stamp.encode() + b"." + request.body, "sha256").hexdigest()
//	genuine = hmac.compare_digest(want, request.headers["Fairlead-Signature"])
//	recent = abs(time.time() - int(stamp)) < 300
//	assert genuine and recent
func Sign(secret, timestamp string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write([]byte(timestamp)) // hashes do not fail
	_, _ = h.Write([]byte{'.'})
	_, _ = h.Write(body)
	return "v1=" + hex.EncodeToString(h.Sum(nil))
}
