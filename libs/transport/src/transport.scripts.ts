import { defineScript, str } from 'luanest/script-registry';
import { FREES_MEMORY } from '../../internal/src';
import { replyLua } from './scripts/generated';

export const passReply = defineScript({
  name: 'transport.reply',
  ...replyLua,
  keys: ['replies'],
  args: { packet: str },
  flags: FREES_MEMORY,
  group: false,
  reply: ([listeners]: [number]) => listeners,
});

export const transportScripts = [passReply];
