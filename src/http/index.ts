export type { HeaderLine, HttpReply, HttpRequest, Reply, ReplyStream } from './exchange.ts';
export { HeaderEdits } from './edits.ts';
