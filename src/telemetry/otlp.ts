// Sends spans and metrics to the collector at OTEL_EXPORTER_OTLP_ENDPOINT. The SDK is an optional peer and is loaded only
// here. A program that has set up OpenTelemetry itself keeps its own setup.
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { type Context, type ContextManager, context, metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { TurnwireError } from '../language/errors.ts'

export type Exporting = { close(): Promise<void> }

/** How long a process that stops waits for the collector. */
const lastSendMs = 2_000

const missing =
  'OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry SDK is not installed. Install it: npm i @opentelemetry/sdk-trace @opentelemetry/exporter-trace-otlp-http @opentelemetry/sdk-metrics @opentelemetry/exporter-metrics-otlp-http. Or unset the variable.'

/** `everyMs`: how often metrics are sent. */
export async function exportToCollector(
  service: string,
  version: string,
  everyMs: number,
): Promise<Exporting> {
  const sdk = await loadSdk()
  const resource = sdk.resources
    .defaultResource()
    .merge(sdk.resources.resourceFromAttributes({ 'service.name': service, 'service.version': version }))
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, so they hold.
    .merge(sdk.resources.detectResources({ detectors: [sdk.resources.envDetector] }))
  const spans = new sdk.traces.TracerProvider({
    resource,
    spanProcessors: [
      new sdk.traces.BatchSpanProcessor({ exporter: new sdk.traceExporter.OTLPTraceExporter() }),
    ],
  })
  const readers = [
    new sdk.metrics.PeriodicExportingMetricReader({
      exporter: new sdk.metricExporter.OTLPMetricExporter(),
      exportIntervalMillis: everyMs,
    }),
  ]
  const meters = new sdk.metrics.MeterProvider({ resource, readers })
  // Each of these does nothing if the program has set one before.
  context.setGlobalContextManager(new AsyncContexts())
  trace.setGlobalTracerProvider(spans)
  metrics.setGlobalMeterProvider(meters)
  return {
    async close() {
      const sent = Promise.allSettled([spans.shutdown(), meters.shutdown()])
      // A collector that is away must not keep the process from ending.
      await Promise.race([sent, pause(lastSendMs, undefined, { ref: false })])
    },
  }
}

async function loadSdk() {
  try {
    const [traces, traceExporter, metricSdk, metricExporter, resources] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/resources'),
    ])
    return { traces, traceExporter, metrics: metricSdk, metricExporter, resources }
  } catch (cause) {
    throw new TurnwireError('config_invalid', missing, { cause })
  }
}

/** Which span the running code belongs to, across awaits. */
class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }

  with<Args extends unknown[], Run extends (...args: Args) => ReturnType<Run>>(
    within: Context,
    run: Run,
    receiver?: ThisParameterType<Run>,
    ...args: Args
  ): ReturnType<Run> {
    return this.#storage.run(within, () => run.apply(receiver, args))
  }

  bind<Target>(within: Context, target: Target): Target {
    if (typeof target !== 'function') return target
    // The same function, with the same type, in another context.
    return ((...args: unknown[]) => this.#storage.run(within, () => target(...args))) as Target
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}
