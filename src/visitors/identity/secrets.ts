import { join } from 'node:path';
import type { AppConfig } from '../../platform/config/config';
import { readOrCreateSecret } from '../../platform/embedded/private-file';

/** The app's own secrets. */
export interface Secrets {
  readonly guestSecret: string;
  readonly adminToken: string;
}

/** The configured secrets, or those of the data folder, generated where they are missing. */
export async function loadSecrets(config: AppConfig): Promise<Secrets> {
  return {
    guestSecret: config.guestSecret ?? (await readOrCreateSecret(join(config.dataDir, 'guest-secret'))),
    adminToken: await loadAdminToken(config),
  };
}

/** The admin token alone, for tools that talk to an app on the same configuration. */
export async function loadAdminToken(config: AppConfig): Promise<string> {
  return config.adminToken ?? readOrCreateSecret(join(config.dataDir, 'admin-token'));
}
