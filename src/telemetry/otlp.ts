// Sends spans and metrics to the collector at OTEL_EXPORTER_OTLP_ENDPOINT. The SDK is the program's own, and is loaded only
// here. A program that has set up OpenTelemetry itself keeps its own setup.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import {
  type Context,
  type ContextManager,
  context,
  metrics,
  ROOT_CONTEXT,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { TurnwireError } from '../language/errors.ts'

export type Exporting = { close(): Promise<void> }

/** How long a process that stops waits for the collector. */
const lastSendMs = 2_000

const missing =
  'OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry SDK is not installed. Install it: npm i @opentelemetry/sdk-trace @opentelemetry/exporter-trace-otlp-http @opentelemetry/sdk-metrics @opentelemetry/exporter-metrics-otlp-http @opentelemetry/resources (before OpenTelemetry 2.12: sdk-trace-base in place of sdk-trace). Or unset the variable.'

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
  const spans = sdk.makeSpans(resource, new sdk.traceExporter.OTLPTraceExporter())
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
    const [makeSpans, traceExporter, metricSdk, metricExporter, resources] = await Promise.all([
      loadTraces(),
      load<typeof import('@opentelemetry/exporter-trace-otlp-http')>(
        '@opentelemetry/exporter-trace-otlp-http',
      ),
      load<typeof import('@opentelemetry/sdk-metrics')>('@opentelemetry/sdk-metrics'),
      load<typeof import('@opentelemetry/exporter-metrics-otlp-http')>(
        '@opentelemetry/exporter-metrics-otlp-http',
      ),
      load<typeof import('@opentelemetry/resources')>('@opentelemetry/resources'),
    ])
    return { makeSpans, traceExporter, metrics: metricSdk, metricExporter, resources }
  } catch (cause) {
    throw new TurnwireError('config_invalid', missing, { cause })
  }
}

/**
 * A package of the program's own. Declared as peers, even as optional ones, these would be in conflict with the versions that an
 * application has, so they are found beside this package, or else in the folder of the program.
 */
async function load<Module>(name: string): Promise<Module> {
  // Bundlers that follow imports would put every package of that scope into an application.
  const found = await import(/* turbopackIgnore: true */ /* webpackIgnore: true */ name).catch(() => {
    const inProgram = createRequire(pathToFileURL(join(process.cwd(), 'package.json')))
    return import(
      /* turbopackIgnore: true */ /* webpackIgnore: true */ pathToFileURL(inProgram.resolve(name)).href
    )
  })
  return found as Module // as the package of that name declares it
}

type MakeSpans = (
  resource: Resource,
  exporter: SpanExporter,
) => TracerProvider & { shutdown(): Promise<void> }

/** The part of `sdk-trace-base` that is used. */
type TracesBefore = {
  BasicTracerProvider: new (options: {
    resource: Resource
    spanProcessors: object[]
  }) => ReturnType<MakeSpans>
  BatchSpanProcessor: new (exporter: SpanExporter) => object
}

/** OpenTelemetry before 2.12 has this package under another name, with another constructor. */
async function loadTraces(): Promise<MakeSpans> {
  try {
    const sdk = await load<typeof import('@opentelemetry/sdk-trace')>('@opentelemetry/sdk-trace')
    return (resource, exporter) =>
      new sdk.TracerProvider({ resource, spanProcessors: [new sdk.BatchSpanProcessor({ exporter })] })
  } catch {
    const sdk = await load<TracesBefore>('@opentelemetry/sdk-trace-base')
    return (resource, exporter) =>
      new sdk.BasicTracerProvider({ resource, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] })
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
