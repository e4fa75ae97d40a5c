import { join } from 'node:path';
import type { AppConfig } from '../../platform/config/config';
import { readOrCreateSecret } from '../../platform/embedded/private-file';

/** Secrets of the app. */
export interface Secrets {
  readonly guestSecret: string;
  readonly adminToken: string;
}

/** Loads the secrets: the configured ones, else those of the data folder. Generates missing ones there. */
export async function loadSecrets(config: AppConfig): Promise<Secrets> {
  return {
    guestSecret: config.guestSecret ?? (await readOrCreateSecret(join(config.dataDir, 'guest-secret'))),
    adminToken: await loadAdminToken(config),
  };
}

/** Loads the admin token alone, for tools that call an app with the same configuration. */
export async function loadAdminToken(config: AppConfig): Promise<string> {
  return config.adminToken ?? readOrCreateSecret(join(config.dataDir, 'admin-token'));
}
