#!/bin/sh
# The protocol by hand, against a running server (npm start): sh examples/curl.sh [address]
set -eu
url=${1:-http://127.0.0.1:4117}
json='Content-Type: application/json'

# What is served here?
curl -fsS "$url/meta" | head -c 300
echo

# A session: one tool that runs by itself, one that asks first, and one of our own.
session=$(curl -fsS "$url/sessions" -H "$json" -d '{
  "agent": {"name": "helper", "tools": [{"name": "get_weather", "trust": true}, {"name": "send_mail"}]},
  "tools": [{"name": "local_time", "description": "The local time of the user.", "parameters": {"type": "object", "properties": {}}}]
}' | sed 's/.*"sessionId":"\([^"]*\)".*/\1/')
echo "session $session"

# A turn, as a stream. It stops with "tool_use": one call needs permission, one a result of ours.
stream=$(curl -fsSN "$url/sessions/$session/turns" -H "$json" -d '{
  "stream": "message",
  "messages": [{"role": "user", "content": "What is my local time, what is the weather in Oslo, and mail ana@example.org that I am late"}]
}')
echo "$stream"
call() { echo "$stream" | sed -n "s/.*\"toolCallId\":\"\([^\"]*\)\",\"name\":\"$1\".*/\1/p"; }

# Both answers in one request; the turn goes on from there.
curl -fsSN "$url/sessions/$session/turns" -H "$json" -d '{
  "messages": [
    {"role": "tool", "toolCallId": "'"$(call local_time)"'", "content": "09:41"},
    {"role": "tool_permission", "toolCallId": "'"$(call send_mail)"'", "granted": true}
  ]
}'
echo
