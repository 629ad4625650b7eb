// Sends a request byte by byte as it was made, which no HTTP client would do, and reads the answer until the server closes
// the connection.
import { connect } from 'node:net'
import type { RawRequest } from './mutate.ts'

/** `status` 0: the connection was closed without an answer. */
export type RawAnswer = { status: number; text: string }

const keptBytes = 100_000

export function sendRaw(
  port: number,
  key: string,
  request: RawRequest,
  withinMs: number,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const finish = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ status: statusIn(text), text })
    }
    const timer = setTimeout(
      () => {
        socket.destroy()
        // A body that never comes whole is waited for.
        if (request.broken) resolve({ status: statusIn(text), text })
        else
          reject(new Error(`No answer within ${withinMs} ms; so far: ${JSON.stringify(text.slice(0, 300))}`))
      },
      request.broken ? 200 : withinMs,
    )
    socket.on('data', data => {
      if (text.length < keptBytes) text += data.toString('latin1')
      // A stream of events may never end. One that a request of another kind opened ends with its turn.
      const isStream =
        request.method === 'GET' && /HTTP\/1\.1 200 [\s\S]*?text\/event-stream[\s\S]*?\r\n\r\n/.test(text)
      if (isStream) finish()
    })
    // The server may close while the rest of a body is on its way.
    socket.on('error', () => {})
    socket.on('close', finish)
    socket.write(bytesOf(port, key, request))
  })
}

function bytesOf(port: number, key: string, { method, path, headers, body }: RawRequest): Buffer {
  const names = new Set(headers.map(([name]) => name))
  const own: [string, string][] = [
    ...(names.has('host') ? [] : [['host', `127.0.0.1:${port}`] as [string, string]]),
    ...(names.has('authorization') ? [] : [['authorization', `Bearer ${key}`] as [string, string]]),
    ['connection', names.has('upgrade') ? 'close, upgrade' : 'close'],
  ]
  const lines = [...own, ...headers].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

/** The last status: one that is only provisional may come before it. */
function statusIn(text: string): number {
  const found = [...text.matchAll(/(?:^|\r\n\r\n)HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return found.find(status => status >= 200) ?? 0
}
