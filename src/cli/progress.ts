// Progress of long work, on standard error: a bar on a terminal, a line now and then in a file or a log, nothing in a pipe, whose reader
// wants errors alone. Short work shows nothing.
import { fstatSync } from 'node:fs'
import { cutToWidth } from './chat/flow.ts'

export type ProgressPlace = 'terminal' | 'lines' | 'nowhere'

type ProgressOptions = {
  /** On a terminal, shown before the work begins: for work that does not let this thread draw. */
  atOnce?: boolean
  place?: ProgressPlace
  write?: (text: string) => void
  width?: () => number
  now?: () => number
}

export type Progress = {
  /** `total`: if it is known. */
  step(done: number, total?: number): void
  /** For a line of something else, such as the log. It is drawn again below that. */
  erase(): void
  /** Erases the bar. Further steps show nothing. */
  end(): void
}

const patienceMs = 400
const redrawMs = 100
const lineMs = 10_000
const barWidth = 24
const erase = '\r\u001b[2K'

/** Of standard error. */
export function progressPlace(stream: Pick<NodeJS.WriteStream, 'isTTY'> = process.stderr): ProgressPlace {
  if (stream.isTTY) return process.env['TERM'] === 'dumb' ? 'lines' : 'terminal'
  try {
    return fstatSync(2).isFile() ? 'lines' : 'nowhere'
  } catch {
    return 'nowhere'
  }
}

/** `what`: the work, such as "Exporting"; `unit`: what is counted. */
export function startProgress(what: string, unit: string, options: ProgressOptions = {}): Progress {
  const {
    place = progressPlace(),
    write = text => void process.stderr.write(text),
    // A terminal that does not know its width says 0.
    width = () => process.stderr.columns || 80,
    now = () => performance.now(),
  } = options
  const began = now()
  let [shownAt, isDrawn, hasEnded] = [began, false, false]
  let last: [number, number | undefined] = [0, undefined]

  const show = (): void => {
    if (hasEnded || place === 'nowhere') return
    const at = now()
    const wait = place === 'lines' ? lineMs : isDrawn ? redrawMs : patienceMs
    if (at - shownAt < wait) return
    shownAt = at
    const text = progressText(what, unit, last, Math.floor((at - began) / 1000), place === 'terminal')
    isDrawn = place === 'terminal'
    write(isDrawn ? `${erase}${cutToWidth(text, width() - 1)}` : `${text}\n`)
  }
  const clear = (): void => {
    if (isDrawn) write(erase)
    isDrawn = false
  }
  // Work that waits takes no step for a while, and the seconds go on.
  const timer = place === 'nowhere' ? undefined : setInterval(show, place === 'lines' ? lineMs : redrawMs)
  timer?.unref()
  if (options.atOnce && place === 'terminal') {
    shownAt -= patienceMs
    show()
  }
  return {
    step(done, total) {
      last = [done, total]
      show()
    },
    erase: clear,
    end() {
      clearInterval(timer)
      hasEnded = true
      clear()
    },
  }
}

function progressText(
  what: string,
  unit: string,
  [done, total]: [number, number | undefined],
  seconds: number,
  hasBar: boolean,
): string {
  const count = (value: number): string => value.toLocaleString('en')
  const share = total === undefined || total === 0 ? undefined : Math.min(done / total, 1)
  const filled = Math.round((share ?? 0) * barWidth)
  const bar = hasBar && share !== undefined ? ` ${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}` : ''
  const percent = share === undefined ? '' : ` ${Math.floor(share * 100)} %`
  const counted =
    done === 0 && total === undefined
      ? ''
      : ` ${count(done)}${total === undefined ? '' : ` of ${count(total)}`} ${unit}`
  return `${what}${bar}${percent}${counted}, ${seconds} s`
}

/** Shows progress while the work lasts, also if it fails. */
export async function withProgress<Result>(
  what: string,
  unit: string,
  work: (progress: Progress) => Promise<Result>,
  options: ProgressOptions = {},
): Promise<Result> {
  const progress = startProgress(what, unit, options)
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}
