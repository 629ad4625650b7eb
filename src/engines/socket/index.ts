// The engine's boundary between processes. `channel.ts` moves messages, `protocol.ts` says what they mean, and
// `folder-socket.ts` is where the processes of one data folder meet.
export { type Channel, streamChannel } from './channel.ts'
export { connectEngine, type RemoteEngine } from './connect-engine.ts'
export { connectTo, type FolderSocket, isSecret, listenIn, makeSecret, readSecret } from './folder-socket.ts'
export { isStopping } from './protocol.ts'
export { type Admit, type ExtraCalls, type ExtraStreams, serveEngine } from './serve-engine.ts'
