import { newPinnedSession, type PinnedSession } from '../conversation/pinnedSession.ts';
import type { EndpointStream } from './endpointStream.ts';

/** A session with a server: it lives as long as its event stream. */
export interface SseSession extends PinnedSession {
  /** Undefined before the first message. */
  stream: EndpointStream | undefined;
}

export const newSseSession = (): SseSession => ({ ...newPinnedSession(), stream: undefined });
