-- What a browser or an agent sends: about ten header lines. The workload comes from the environment.
wrk.method = os.getenv("BENCH_METHOD")
wrk.headers["Host"] = "api.example.com"
wrk.headers["User-Agent"] =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
wrk.headers["Accept"] = "application/json, text/event-stream;q=0.9, */*;q=0.8"
wrk.headers["Accept-Language"] = "en-GB,en;q=0.9,de;q=0.8"
wrk.headers["Accept-Encoding"] = "gzip, deflate, br, zstd"
wrk.headers["Cookie"] = "session=3f2a9c71d0b84e6f9a5c1d7e8b02f463; theme=dark; consent=1"
wrk.headers["Referer"] = "https://www.example.com/orders?page=2"
wrk.headers["Traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
wrk.headers["Cache-Control"] = "no-cache"

local token = os.getenv("BENCH_TOKEN")
if token ~= nil and token ~= "" then wrk.headers["Authorization"] = "Bearer " .. token end

local body = os.getenv("BENCH_BODY")
if body ~= nil and body ~= "" then
  wrk.body = body
  wrk.headers["Content-Type"] = "application/json"
end

-- In an order that no cache can foresee, yet each as often as any other.
local routes = tonumber(os.getenv("BENCH_ROUTES") or "")
if routes ~= nil then
  local at = 0
  request = function()
    at = (at + 7919) % routes
    return wrk.format(nil, "/v2/orders/r" .. at .. "/4711?expand=items")
  end
end

done = function(summary, latency, requests)
  io.write(string.format(
    "\nRESULT {\"requests\":%d,\"microseconds\":%d,\"failed\":%d,\"p50\":%d,\"p99\":%d}\n",
    summary.requests, summary.duration,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status
      + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
