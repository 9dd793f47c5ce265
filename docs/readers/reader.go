// Reads the events of one integration from JetStream, each once, and asks for the record of each created supplier.
//
//	go mod init reader && go get github.com/nats-io/nats.go && go build -o reader reader.go
//	NATS_URL=nats://127.0.0.1:4222 INTEGRATION=acme NAME=my-service ./reader
//
// SINCE=2026-03-31T21:00:00Z begins there, where the consumer is made; without it at the oldest event.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

var integration = setting("INTEGRATION", "acme")
var name = setting("NAME", "my-service")

func openConsumer(ctx context.Context, js jetstream.JetStream) (jetstream.Consumer, error) {
	// Where NATS has users an operator makes the consumer: ops reader NAME --integration INTEGRATION --from-start --apply
	consumer, err := js.Consumer(ctx, "EVENTS", name)
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return consumer, err
	}
	config := jetstream.ConsumerConfig{
		Durable:           name,
		FilterSubject:     "events." + integration + ".>",
		AckPolicy:         jetstream.AckExplicitPolicy,
		InactiveThreshold: 8 * 24 * time.Hour,
		DeliverPolicy:     jetstream.DeliverAllPolicy,
	}
	if since := os.Getenv("SINCE"); since != "" {
		begin, err := time.Parse(time.RFC3339, since)
		if err != nil {
			return nil, err
		}
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &begin
	}
	return js.CreateConsumer(ctx, "EVENTS", config)
}

func showRecord(client *nats.Conn, externalId string) error {
	asked := nats.NewMsg("svc.catalog.suppliers.list." + integration)
	asked.Header.Set("query", url.Values{"externalId": {externalId}, "details": {"true"}}.Encode())
	reply, err := client.RequestMsg(asked, 5*time.Second)
	if err != nil {
		return err
	}
	if failure := reply.Header.Get("Nats-Service-Error"); failure != "" {
		return errors.New(failure)
	}
	var answer struct{ Entities []struct{ Name string } }
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return err
	}
	for _, entity := range answer.Entities {
		fmt.Println("record", externalId, entity.Name)
	}
	return nil
}

func take(client *nats.Conn, id string, body []byte) error {
	var event struct {
		Event string
		Data  json.RawMessage
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	fmt.Println(id, event.Event, string(event.Data))
	if event.Event != "supplier.created" {
		return nil
	}
	var created struct{ ExternalId string }
	if err := json.Unmarshal(event.Data, &created); err != nil {
		return err
	}
	return showRecord(client, created.ExternalId)
}

func main() {
	client, err := nats.Connect(setting("NATS_URL", nats.DefaultURL), nats.CustomInboxPrefix("_INBOX_"+name), nats.MaxReconnects(-1))
	check(err)
	js, err := jetstream.New(client)
	check(err)
	consumer, err := openConsumer(context.Background(), js)
	check(err)
	// An event may come twice. A service with a database keeps the id in the transaction that deals with the event.
	seen, path := map[string]bool{}, setting("SEEN", name+".seen")
	ids, _ := os.ReadFile(path)
	for _, id := range strings.Split(string(ids), "\n") {
		seen[id] = true
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	messages, err := consumer.Messages()
	check(err)
	for {
		message, err := messages.Next()
		check(err)
		id, version := message.Headers().Get("Nats-Msg-Id"), message.Headers().Get("Event-Version")
		if version != "" && version != "1" {
			log.Fatalf("%s has version %s, which this reader does not know", id, version)
		}
		if !seen[id] {
			check(take(client, id, message.Data()))
			seen[id] = true
			_, err = fmt.Fprintln(file, id)
			check(err)
		}
		check(message.Ack()) // until then JetStream delivers it again
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
