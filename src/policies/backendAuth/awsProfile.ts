import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readRegularText } from '../../files/index.ts';
import type { AwsKeys } from './sigV4.ts';

/** Settings of one profile in a shared file of AWS. */
type Profile = ReadonlyMap<string, string>;

/** Where the shared files of AWS stand, and which profile is in use. */
export interface SharedFiles {
  readonly credentials: string;
  readonly config: string;
  readonly profile: string;
  /** The environment names the profile, so it must exist. */
  readonly named: boolean;
}

/** Ways to credentials that a profile may name, and the gateway does not take. */
const unbuilt = [
  'role_arn',
  'credential_process',
  'credential_source',
  'source_profile',
  'sso_session',
  'sso_start_url',
  'web_identity_token_file',
  'login_session',
];

/** By the environment of the process. */
export function sharedFiles(): SharedFiles {
  const { AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, AWS_PROFILE = '' } = process.env;
  const usual = (name: string): string => join(homedir(), '.aws', name);
  return {
    credentials: AWS_SHARED_CREDENTIALS_FILE || usual('credentials'),
    config: AWS_CONFIG_FILE || usual('config'),
    profile: AWS_PROFILE || 'default',
    named: AWS_PROFILE !== '',
  };
}

/**
 * The file that holds the keys of the profile; undefined where no profile is there and the environment names none.
 * @throws Error for a named profile that does not exist, or a profile that gets its keys in another way
 */
export function fileWithKeys({ credentials, config, profile, named }: SharedFiles): string | undefined {
  const found = [credentials, config].flatMap((file) => {
    const settings = existsSync(file) ? profileIn(readRegularText(file), profile) : undefined;
    return settings === undefined ? [] : [{ file, settings }];
  });
  const holder = found.find(({ settings }) => settings.has('aws_access_key_id'));
  if (holder !== undefined) return holder.file;
  for (const { file, settings } of found) {
    const other = unbuilt.find((name) => settings.has(name));
    if (other !== undefined) throw new Error(`${file}: ${other} of a profile is known, but not built yet`);
  }
  if (named) throw new Error(`AWS_PROFILE: no keys of the profile ${profile} in ${credentials} or ${config}`);
  return undefined;
}

/** The region of the profile; undefined where the files name none. */
export function regionOfProfile({ credentials, config, profile }: SharedFiles): string | undefined {
  for (const file of [config, credentials])
    if (existsSync(file)) {
      const region = profileIn(readRegularText(file), profile)?.get('region');
      if (region !== undefined) return region;
    }
  return undefined;
}

/** The keys of a profile in the text of a shared file. @throws Error that does not quote the text */
export function keysIn(text: string, profile: string): AwsKeys {
  const settings = profileIn(text, profile);
  const accessKeyId = settings?.get('aws_access_key_id') ?? '';
  const secretAccessKey = settings?.get('aws_secret_access_key') ?? '';
  if (accessKeyId === '' || secretAccessKey === '')
    throw new Error(`the profile ${profile} has no aws_access_key_id or no aws_secret_access_key`);
  const sessionToken = settings?.get('aws_session_token') ?? '';
  return { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) };
}

/** One section of the INI text; indented lines are nested settings, which the gateway does not use. */
function profileIn(text: string, profile: string): Profile | undefined {
  let found: Map<string, string> | undefined;
  let isInside = false;
  for (const line of text.split(/\r?\n/)) {
    const section = /^\[\s*(?:profile\s+)?([^\]]*?)\s*\]/.exec(line)?.[1];
    if (section !== undefined) {
      isInside = section === profile;
      if (isInside) found ??= new Map();
      continue;
    }
    const [, name, value = ''] = /^([^\s=#;[][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (isInside && name !== undefined) found?.set(name.toLowerCase(), value);
  }
  return found;
}
