// WEBHOOK_SECRET=whsec_… PORT=9000 go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// isGenuine signs the bytes as they came: JSON that was parsed and written again has another signature.
func isGenuine(key []byte, id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// There are two while a secret is being rotated; one that fits is enough.
	for _, signature := range strings.Fields(signatures) {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	// With an empty key anybody could sign.
	if err != nil || len(key) < 24 {
		log.Fatal("WEBHOOK_SECRET: expected whsec_… as the registration returned it")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	var seen sync.Map
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(answer, request.Body, 1<<20))
		id := request.Header.Get("webhook-id")
		timestamp, signatures := request.Header.Get("webhook-timestamp"), request.Header.Get("webhook-signature")
		if !isGenuine(key, id, timestamp, signatures, body) {
			http.Error(answer, "the signature does not fit", http.StatusBadRequest)
			return
		}
		// Answer first, work afterwards: the answer is waited for 10 s at most.
		answer.WriteHeader(http.StatusNoContent)
		// The same event may come twice, with the same id. Keep the ids where a restart does not lose them.
		if _, twice := seen.LoadOrStore(id, true); !twice {
			fmt.Println(string(body))
		}
	})
	fmt.Println("listening on http://127.0.0.1:" + port + "/")
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
