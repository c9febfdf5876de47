export { backoffMs, jittered, type BackoffOptions, type Random } from './backoff.ts';
export { pause, systemClock, type Clock } from './clock.ts';
export { lines, LineTooLong } from './lines.ts';
export { StreamServer, Unavailable, type Caller, type ProxyView, type ServerPace } from './server.ts';
export { StreamSource, type StreamSettings } from './streamSource.ts';
export type { ReportedProblem } from './reportedProblems.ts';
