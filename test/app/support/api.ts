import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ActivityStatus, GrabResult } from 'luanest/red-packet';

/** An app's answer. */
export interface ApiAnswer<T> {
  readonly status: number;
  readonly body: T;
}

/** Sends one request and parses the JSON that comes back. */
export async function api<T>(
  url: string,
  method: 'GET' | 'POST',
  token?: string,
  body?: unknown,
): Promise<ApiAnswer<T>> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return { status: response.status, body: (await response.json()) as T };
}

/** The admin token that an app generated into its data folder. */
export async function adminTokenOf(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
}

/** Makes an activity. */
export async function createActivity(
  url: string,
  admin: string,
  activityId: string,
  packets: number,
  total: string,
): Promise<void> {
  const { status, body } = await api(`${url}/red-packets`, 'POST', admin, { activityId, packets, total });
  if (status >= 300) throw new Error(`The activity was refused with ${status}: ${JSON.stringify(body)}`);
}

/** A new guest's token. */
export async function guestToken(url: string): Promise<string> {
  return (await api<{ token: string }>(`${url}/guests`, 'POST')).body.token;
}

/** One grab. */
export async function grab(url: string, activityId: string, token: string): Promise<GrabResult> {
  return (await api<GrabResult>(`${url}/red-packets/${activityId}/grab`, 'POST', token)).body;
}

/** Where an activity stands. */
export async function statusOf(url: string, activityId: string): Promise<ActivityStatus> {
  return (await api<ActivityStatus>(`${url}/red-packets/${activityId}`, 'GET')).body;
}
