import type { NamedFile, Problem } from '../config/index.ts';
import { messageOf } from '../errorText.ts';
import type { Model } from '../model/index.ts';
import { brokenParts } from '../workers/index.ts';
import { silentLog } from './silentLog.ts';

/**
 * Reads the files of a configuration as a gateway does. Never rejects.
 * @param named the files that the configuration names
 * @returns a problem for each certificate, key, key set or secret that a gateway could not use
 */
export async function unusableFiles(model: Model, named: readonly NamedFile[]): Promise<readonly Problem[]> {
  return (await problemsOf(model, named)).map((message) => {
    const place = placeOf(message, named);
    return { ...(place ?? { file: named[0]?.place.file ?? '', path: '' }), message };
  });
}

/** Words about a certificate, which OpenSSL does not always name. */
const isAboutCertificate = (message: string): boolean => /^(?:tls|backendTLS)\b/.test(message);

async function problemsOf(model: Model, named: readonly NamedFile[]): Promise<readonly string[]> {
  try {
    const broken = await brokenParts(model, silentLog);
    // Others are about the environment of this process, such as a region of AWS, which is not that of the gateway.
    return broken.filter((message) => placeOf(message, named) !== undefined || isAboutCertificate(message));
  } catch (error) {
    return [messageOf(error)];
  }
}

/** The place of the file that a message is about. The name of one file may begin with the name of another one. */
function placeOf(message: string, named: readonly NamedFile[]): NamedFile['place'] | undefined {
  const nearest = named
    .map(({ name, place }) => ({ name, place, at: message.indexOf(`: ${name}`) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.name.length - a.name.length);
  return nearest[0]?.place;
}
