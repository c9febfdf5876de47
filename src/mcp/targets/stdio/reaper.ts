import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Logger } from '../../../telemetry/index.ts';

/**
 * Reads `+ LEADER` and `- LEADER` until its input ends: then the gateway is gone. Process groups that are still there
 * have lost their input at the same time. They get two seconds, one more after SIGTERM, and then SIGKILL.
 *
 * `chrt` makes a child a batch process (Linux, sched(7)): a message that wakes it takes the processor from nobody. A
 * gateway that writes to many children goes on to the next one, and does not wait for each of them in turn. Where the
 * command is missing or fails, the child stays as it is.
 */
const script = `
trap '' HUP INT TERM QUIT USR1 USR2
groups=' '
while read -r what leader; do
  case $what in
    +)
      groups="$groups$leader "
      chrt -b -p 0 "$leader" >/dev/null 2>&1
      ;;
    -) case $groups in *" $leader "*) groups="\${groups%%" $leader "*} \${groups#*" $leader "}" ;; esac ;;
  esac
done
alive() {
  for leader in $groups; do kill -0 "-$leader" 2>/dev/null && return 0; done
  return 1
}
end() { for leader in $groups; do kill "-$1" "-$leader" 2>/dev/null; done; }
alive && sleep 1 && alive && sleep 1
alive && end TERM && alive && sleep 1
alive && end KILL
exit 0
`;

/** A supervisor that dies again so soon after its start is not started again before the next child is. */
const soonMs = 1_000;

type Helper = ChildProcessByStdio<Writable, null, null>;

/**
 * Looks after children from outside of the gateway. It makes them batch processes. It ends their process groups when
 * the gateway is gone without a chance to do so: killed with SIGKILL, or out of memory. One small shell for all children
 * waits for the end of a pipe that the gateway holds. Where there is no shell, the log says so, once.
 */
export class Reaper {
  private readonly log: Logger;
  private readonly leaders = new Set<number>();
  private helper: Helper | undefined;
  private startedAt = 0;
  private impossible = process.platform === 'win32';

  constructor(log: Logger) {
    this.log = log;
  }

  add(leader: number): void {
    this.leaders.add(leader);
    if (this.helper === undefined) this.start();
    else this.tell(`+ ${leader}\n`);
  }

  /** Forgets a group without processes: its number may soon belong to another one. */
  remove(leader: number): void {
    this.leaders.delete(leader);
    this.tell(`- ${leader}\n`);
  }

  /** Resolves (never rejects) when the helper is gone; the next child would start another one. */
  async close(): Promise<void> {
    const { helper } = this;
    this.helper = undefined;
    if (helper === undefined) return;
    // Only now it may keep the process alive, for the moment that the end of a shell takes.
    helper.ref();
    const gone = once(helper, 'exit').catch(() => undefined);
    helper.stdin.end();
    await gone;
  }

  private tell(line: string): void {
    this.helper?.stdin.write(line);
  }

  private start(): void {
    // The system ends everything below process 1 together with it.
    if (this.impossible || process.pid === 1) return;
    this.startedAt = performance.now();
    const helper = spawn('/bin/sh', ['-c', script, 'portcullis-reaper'], {
      // A group of its own: what is sent to that of the gateway must not end it.
      detached: true,
      env: { PATH: process.env['PATH'] },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    helper.on('error', (error: NodeJS.ErrnoException) => this.failed(helper, error));
    if (helper.pid === undefined) return;
    this.helper = helper;
    helper.on('exit', () => this.lost(helper));
    // Its end is told by the exit.
    helper.stdin.on('error', () => undefined);
    helper.unref();
    (helper.stdin as Socket).unref();
    for (const leader of this.leaders) this.tell(`+ ${leader}\n`);
  }

  private failed(helper: Helper, error: NodeJS.ErrnoException): void {
    if (helper.pid !== undefined) return;
    // Too few descriptors or processes may be a thing of the moment.
    this.impossible = error.code === 'ENOENT' || error.code === 'EACCES';
    this.log.warn('Supervisor could not be started: child processes would outlive a killed gateway', {
      problem: error.message,
    });
  }

  private lost(helper: Helper): void {
    if (this.helper !== helper) return;
    this.helper = undefined;
    if (this.leaders.size > 0 && performance.now() - this.startedAt > soonMs) this.start();
  }
}
