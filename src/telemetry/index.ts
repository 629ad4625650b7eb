// Watches the engine for metrics and traces. Metrics are counted once a server asks for them; spans are made when a collector
// is named by OTEL_EXPORTER_OTLP_ENDPOINT or the program has set up OpenTelemetry. Otherwise watching costs nothing.
import { ownVersion } from '../data/version.ts'
import type { Observer } from '../engine/ports/index.ts'
import { type Gauges, Measures } from './measures.ts'
import type { Exporting } from './otlp.ts'
import type { Spans } from './spans.ts'

export type { Measures } from './measures.ts'
export { metricsRoute } from './metrics-route.ts'

export type TelemetryConfig = {
  /** Also records the words of users, models and tools in spans. Default false. */
  content?: boolean
}

export class Telemetry {
  /** Undefined: nobody collects spans. */
  readonly spans: Spans | undefined
  readonly observer: Observer
  readonly #exporting: Exporting | undefined
  /** Undefined: nobody asks for metrics. */
  measures: Measures | undefined

  private constructor(spans?: Spans, exporting?: Exporting) {
    this.spans = spans
    this.#exporting = exporting
    this.observer = {
      lost: session => {
        this.measures?.lost(session)
        this.spans?.lost(session)
      },
      ...(spans && {
        recorded: (session, events) => spans.recorded(session, events),
        startTurn: (session, caller) => spans.startTurn(session, caller),
        inCall: (callId, run) => spans.inCall(callId, run),
        findTrace: callId => spans.findTrace(callId),
      }),
    }
  }

  static async open({ content = false }: TelemetryConfig = {}, env = process.env): Promise<Telemetry> {
    const isExporting =
      (env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '') !== '' && env['OTEL_SDK_DISABLED'] !== 'true'
    if (!isExporting && !hasOwnSetup()) return new Telemetry()
    const version = ownVersion()
    const everyMs = Number(env['OTEL_METRIC_EXPORT_INTERVAL']) || 60_000
    const exporting = isExporting
      ? await (await import('./otlp.ts')).exportToCollector('turnwire', version, everyMs)
      : undefined
    const { Spans } = await import('./spans.ts')
    const wantsContent = content || env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'] === 'true'
    return new Telemetry(new Spans(version, wantsContent), exporting)
  }

  /** Counts from here on. */
  measure(gauges: Gauges): Measures {
    if (this.measures) return this.measures
    const measures = new Measures(gauges)
    this.measures = measures
    const { spans, observer } = this
    observer.wrote = measures.wrote
    observer.recorded = spans
      ? (session, events) => {
          measures.recorded(session, events)
          spans.recorded(session, events)
        }
      : measures.recorded
    return measures
  }

  async close(): Promise<void> {
    this.measures?.close()
    await this.#exporting?.close()
  }
}

/** OpenTelemetry's API keeps what a program has set up under this name. */
function hasOwnSetup(): boolean {
  const setup: unknown = Reflect.get(globalThis, Symbol.for('opentelemetry.js.api.1'))
  return typeof setup === 'object' && setup !== null && 'trace' in setup
}
