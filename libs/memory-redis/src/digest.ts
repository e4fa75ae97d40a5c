/** A digest of a collection of texts: the sum of their 64-bit hashes. The order of the texts has no effect. */
export class Digest {
  private high = 0;
  private low = 0;

  /** Returns the digest of one text. */
  static of(text: string): Digest {
    const digest = new Digest();
    // Two hashes of 32 bits. Both end with the finalizer of MurmurHash3, so that sums over similar texts are not similar.
    let [high, low] = [0xdeadbeef, 0x41c6ce57];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      high = Math.imul(((high << 5) | (high >>> 27)) ^ code, 0x9e3779b1);
      low = Math.imul(((low << 5) | (low >>> 27)) ^ code, 0x5f356495);
    }
    digest.high = mixed(high ^ (low >>> 15));
    digest.low = mixed(low ^ (high >>> 13));
    return digest;
  }

  add({ high, low }: Digest): void {
    this.high = (this.high + high) | 0;
    this.low = (this.low + low) | 0;
  }

  /** Returns the digest as 16 hexadecimal digits. */
  toString(): string {
    return hex(this.high) + hex(this.low);
  }
}

function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) | 0;
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, '0');
}
