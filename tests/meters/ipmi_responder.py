#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A BMC that speaks RMCP+ (IPMI 2.0) on a free UDP port of 127.0.0.1, without confidentiality: cipher suite 2, user admin,
password secret.

usage: ipmi_responder.py DIR

DIR/ipmi.json has, each optional: dcmi (hex of the answer to Get Power Reading behind its completion code, or a list of them in
turn, of which the last repeats) or cc (the completion code of its refusal), dcmi_delay_s, delay_s (of every answer), sdr
(sensor records: number, name, m, owner, unit), sdr_delay_s (of each), sdr_fill (so many other sensors before them), readings
(sensor number -> raw byte), idle_s (a session lives so long), max_sessions, suites (cipher suites), chassis (the first byte of
its status), sdr_most (bytes of a record that it returns at once), device_sdr (it has no repository, but keeps the records
itself), silent (commands that it does not answer, "2c 02"), answers (command -> hex of the answer, or completion code),
controllers (address on the IPMB, with a channel "44/6" -> readings, answers, or refused: completion code), luns (LUN ->
readings), chain (number of the record after the last: the chain is a circle). A
record has also name_hex, b, rexp, bexp, fmt (how the raw byte is meant), lin (linearization), percent (the bits beside fmt),
lun (with the channel in its upper half). Also: bad_record (number of a record that it cannot return), compact (a compact, an
event-only and an OEM record come first), lose (every so many requests of a session one is lost), role_refused, then (what is
otherwise after so many readings of sensors, "after", and a restart, unless it has "running": sdr, readings). It prints its
port, and each request, with "login" and "logout" for those of sessions.
"""
import socket, struct, hmac, hashlib, os, threading, time, random
def cksum(b): return (-sum(b)) & 0xff
class BMC:
    def __init__(self, handler, user=b'admin', pw=b'secret', delay=0, suites=(1,2,3,17), max_sessions=99, idle=None, port=0, log=None, on_packet=None):
        self.h=handler; self.user=user; self.pw=pw; self.delay=delay; self.suites=suites
        self.sock=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); self.sock.bind(('127.0.0.1',port)); self.port=self.sock.getsockname()[1]
        self.sess={}; self.log=[]; self.idle=idle; self.max=max_sessions; self.on_packet=on_packet; self.alive=True; self.bridge=None; self.luns={}
        threading.Thread(target=self.loop,daemon=True).start()
    def stop(self):
        self.alive=False; self.sock.close()
    def send(self,b,addr,delay=None):
        d=self.delay if delay is None else delay
        if d: 
            threading.Timer(d,lambda:self._s(b,addr)).start()
        else: self._s(b,addr)
    def _s(self,b,addr):
        try: self.sock.sendto(b,addr)
        except OSError: pass
    def loop(self):
        while self.alive:
            try: b,addr=self.sock.recvfrom(4096)
            except OSError: return
            try: self.pkt(b,addr)
            except Exception as e:
                import traceback; traceback.print_exc()
    def plus(self,ptype,payload,sid=0,seq=0):
        return b'\x06\x00\xff\x07\x06'+bytes([ptype])+struct.pack('<IIH',sid,seq,len(payload))+payload
    def pkt(self,b,addr):
        if self.on_packet and self.on_packet(b,addr)=='drop': return
        if b[3]!=7: return
        if b[4]==0:   # IPMI 1.5
            n=b[13]; m=b[14:14+n]
            netfn,cmd,seq=m[1]>>2,m[5],m[4]
            if netfn==6 and cmd==0x38:
                d=bytes([1,0x97,0x04,0x03,0,0,0,0])
                self.send(self.v15(m,0,d),addr)
            return
        pt=b[5]&0x3f
        sid,seq,ln=struct.unpack('<IIH',b[6:16]); p=b[16:16+ln]
        if pt==0x10:
            tag,priv=p[0],p[1]; rsid=p[4:8]; auth=p[12]; integ=p[20]; conf=p[28]
            suite={(1,0,0):1,(1,1,0):2,(1,1,1):3,(3,4,1):17,(3,4,0):16,(3,0,0):15}.get((auth,integ,conf),0)
            self.log.append(('open',suite))
            if suite not in self.suites:
                self.send(self.plus(0x11,bytes([tag,0x11,0,0])+rsid),addr); return
            now=time.time()
            if self.idle: self.sess={k:v for k,v in self.sess.items() if now-v['last']<self.idle}
            if len(self.sess)>=self.max:
                self.send(self.plus(0x11,bytes([tag,0x01,0,0])+rsid),addr); return
            print('login',flush=True)
            my=struct.pack('<I',random.getrandbits(31)|1)
            self.sess[my]=dict(rsid=rsid,auth=auth,integ=integ,seq=0,last=now,ok=False)
            self.send(self.plus(0x11,bytes([tag,0,priv,0])+rsid+my+p[8:32]),addr)
        elif pt==0x12:
            tag=p[0]; my=p[4:8]; rm=p[8:24]; role=p[24]; ul=p[27]; u=p[28:28+ul]
            s=self.sess.get(my)
            if not s: return
            if u!=self.user:
                self.send(self.plus(0x13,bytes([tag,0x0d,0,0])+s['rsid']),addr); return
            if getattr(self,'role_refused',False):
                self.send(self.plus(0x13,bytes([tag,0x0a,0,0])+s['rsid']),addr); return
            rc=os.urandom(16); guid=b'\xa1'*16
            s.update(rm=rm,rc=rc,guid=guid,role=role,u=u)
            H=hashlib.sha1 if s['auth']==1 else hashlib.sha256
            s['H']=H
            k=self.pw.ljust(20,b'\0')
            mac=hmac.new(k,s['rsid']+my+rm+rc+guid+bytes([role,len(u)])+u,H).digest()
            self.send(self.plus(0x13,bytes([tag,0,0,0])+s['rsid']+rc+guid+mac),addr)
        elif pt==0x14:
            tag=p[0]; my=p[4:8]; s=self.sess.get(my)
            if not s: return
            k=self.pw.ljust(20,b'\0'); H=s['H']
            want=hmac.new(k,s['rc']+s['rsid']+bytes([s['role'],len(s['u'])])+s['u'],H).digest()
            if p[8:8+len(want)]!=want:
                self.send(self.plus(0x15,bytes([tag,0x0f,0,0])+s['rsid']),addr); return
            sik=hmac.new(k,s['rm']+s['rc']+bytes([s['role'],len(s['u'])])+s['u'],H).digest()
            s['k1']=hmac.new(sik,b'\x01'*20,H).digest(); s['ok']=True
            n=12 if s['auth']==1 else 16
            icv=hmac.new(sik,s['rm']+my+s['guid'],H).digest()[:n]
            self.send(self.plus(0x15,bytes([tag,0,0,0])+s['rsid']+icv),addr)
        elif pt==0:
            my=struct.pack('<I',sid); s=self.sess.get(my)
            if not s: return
            now=time.time()
            if self.idle and now-s['last']>self.idle:
                del self.sess[my]; self.log.append(('idle-drop',)); return
            s['last']=now
            m=p; netfn,cmd=m[1]>>2,m[5]; data=m[6:-1]
            if netfn==6 and cmd==0x3c:
                self.sess.pop(my,None); r=(0,b''); print('logout',flush=True)
            elif netfn==6 and cmd==0x3b: r=(0,data[:1])
            else:
                self.log.append((round(now,2),netfn,cmd,data.hex()))
                print('%02x %02x %s' % (netfn,cmd,data.hex(' ')),flush=True)
                if (netfn,cmd)==(6,0x34) and self.bridge:
                    inner=data[1:]; cc,d=self.bridge(data[0]&15,inner[0],inner[1]>>2,inner[5],inner[6:-1])
                    if cc is None: self.reply(s,m,d,b'',addr,None); return
                    self.reply(s,m,0,b'',addr,None); self.reply(s,inner,cc,d,addr,None); return
                r=self.luns.get(m[1]&3,self.h)(netfn,cmd,data)
            if r is None: return
            delay=None
            if len(r)==3: cc,d,delay=r
            else: cc,d=r
            self.reply(s,m,cc,d,addr,delay)
    def msg(self,m,cc,d):
        h=bytes([m[3],((m[1]>>2)|1)<<2|(m[4]&3)]); body=bytes([m[0],(m[4]&0xfc)|(m[1]&3),m[5],cc])+d
        return h+bytes([cksum(h)])+body+bytes([cksum(body)])
    def v15(self,m,cc,d):
        x=self.msg(m,cc,d)
        return b'\x06\x00\xff\x07\x00'+b'\0'*8+bytes([len(x)])+x
    def reply(self,s,m,cc,d,addr,delay):
        x=self.msg(m,cc,d); s['seq']+=1
        b=b'\x06\x00\xff\x07\x06'+bytes([0x40 if s['integ'] else 0])+s['rsid']+struct.pack('<IH',s['seq'],len(x))+x
        if s['integ']:
            pad=(-(len(b)-4+2))%4
            b+=b'\xff'*pad+bytes([pad,7])
            b+=hmac.new(s['k1'],b[4:],s['H']).digest()[:12 if s['auth']==1 else 16]
        self.send(b,addr,delay)
def sdr_full(rid,num,name,unit=6,m=1,b=0,rexp=0,bexp=0,owner=0x20,lun=0,stype=0x0b,ev=1,fmt=0,entity=7,inst=1,percent=0,cap=0x68,lin=0):
    nm=name if isinstance(name,bytes) else name.encode()
    body=bytes([owner,lun,num,entity,inst,0x7f,cap,stype,ev])+b'\0'*6+bytes([fmt<<6|percent,unit,0,lin, m&0xff,(m>>2)&0xc0,b&0xff,(b>>2)&0xc0,0,((rexp&15)<<4)|(bexp&15),0,0,0,0,0xff,0])+b'\0'*11+bytes([0xc0|len(nm)])+nm
    # bytes 12..15 etc are approximated by zeros
    return struct.pack('<H',rid)+bytes([0x51,0x01,len(body)])+body
def std(dcmi, sensors=None, readings=None, devid=bytes([0x20,1,2,0x10,2,0xbf,0x4c,0x1c,0,0x3e,0,0,0,0,0])):
    recs=sensors or []
    def h(netfn,cmd,data):
        if netfn==6 and cmd==1: return 0,devid
        if netfn==0x2c:
            if cmd==2: return dcmi(data) if callable(dcmi) else dcmi
            return 0xc1,b''
        if netfn==0x0a:
            if cmd==0x20: return 0,bytes([0x51])+struct.pack('<H',len(recs))+b'\xff\xff'+b'\0'*8+bytes([2])
            if cmd==0x22: return 0,b'\x01\x00'
            if cmd==0x23:
                rid,off,n=struct.unpack('<HBB',data[2:6])
                if rid==0xffff: rid=len(recs)-1
                if rid>=len(recs): return 0xcb,b''
                nxt=rid+1 if rid+1<len(recs) else 0xffff
                if n==0xff: n=len(recs[rid])
                return 0,struct.pack('<H',nxt)+recs[rid][off:off+n]
        if netfn==4 and cmd==0x2d:
            if readings: 
                r=readings(data[0]) if callable(readings) else readings.get(data[0])
                if r is not None: return r
            return 0xcb,b''
        return 0xc1,b''
    return h
def dcmi_ok(w,lo=1,hi=500,avg=100,state=0x40,ts=0x5f000000,per=1000):
    return 0,bytes([0xdc])+struct.pack('<HHHHIIB',w,lo,hi,avg,ts,per,state)
if __name__ == '__main__':
    import json, sys
    c = json.load(open(sys.argv[1] + '/ipmi.json'))
    if isinstance(c.get('dcmi'), list):
        turn = [(0, bytes.fromhex(answer)) for answer in c['dcmi']]
        dcmi = lambda _: turn.pop(0) if len(turn) > 1 else turn[0]
    else:
        dcmi = (c['cc'], b'') if 'cc' in c else (0, bytes.fromhex(c['dcmi']))
    if 'dcmi_delay_s' in c: dcmi = dcmi + (c['dcmi_delay_s'],)
    def record(i, r):
        name = bytes.fromhex(r['name_hex']) if 'name_hex' in r else r['name']
        return sdr_full(i, r['number'], name, **{k: v for k, v in r.items() if k not in ('number', 'name', 'name_hex')})
    recs = [sdr_full(i, i % 200 + 1, 'Temp %d' % i, unit=1, stype=1) for i in range(c.get('sdr_fill', 0))]
    if c.get('compact'):
        recs += [struct.pack('<H', len(recs)) + bytes([0x51, 2, 27, 0x20, 0, 0x52, 7, 1, 0, 0, 7, 0x6f]) + bytes(7) + bytes([6]) + bytes(9) + b'\xc1P']
        recs += [struct.pack('<H', len(recs)) + bytes([0x51, 3, 13, 0x20, 0, 0x52, 7, 1, 7, 0x6f, 0, 0, 0]) + b'\xc1P']
        recs += [struct.pack('<H', len(recs)) + bytes([0x51, 0xc0, 3, 1, 2, 3])]
    def add_records(): recs.extend([record(len(recs) + i, r) for i, r in enumerate(c.get('sdr', []))])
    filled = len(recs)
    add_records()
    def readings_of(o): return {int(k): (0, bytes([v, 0xc0, 0, 0])) for k, v in o.get('readings', {}).items()}
    h = std(dcmi, recs, readings_of(c))
    def answer_of(o, n, cmd):
        a = o.get('answers', {}).get('%02x %02x' % (n, cmd))
        return None if a is None else (a, b'') if isinstance(a, int) else (0, bytes.fromhex(a))
    def restart():
        global h
        then = c.pop('then')
        c.update(then)
        del recs[filled:]
        add_records()
        h = std(dcmi, recs, readings_of(c))
        if not then.get('running'): b.sess.clear()
    def handler(n, cmd, data):
        if (n, cmd) == (4, 0x2d) and 'then' in c:
            c['then']['after'] -= 1
            if c['then']['after'] < 0:
                running = c['then'].get('running')
                restart()
                if not running: return None
        if 'bad_record' in c and (n, cmd) == (0x0a, 0x23) and struct.unpack('<H', data[2:4])[0] == c['bad_record']: return 0xff, b''
        if '%02x %02x' % (n, cmd) in c.get('silent', []): return None
        if 'chassis' in c and (n, cmd) == (0, 1): return 0, bytes([c['chassis'], 0, 0])
        if a := answer_of(c, n, cmd): return a
        if c.get('device_sdr'):
            if n == 0x0a: return 0xc1, b''
            if (n, cmd) == (4, 0x20): return 0, bytes([len(recs), 1])
            if (n, cmd) in ((4, 0x21), (4, 0x22)): n, cmd = 0x0a, cmd + 2 if cmd == 0x21 else cmd
        if (n, cmd) == (0x0a, 0x23) and 'sdr_most' in c and data[5] > c['sdr_most']: return 0xca, b''
        r = h(n, cmd, data)
        if (n, cmd) == (0x0a, 0x23):
            if 'chain' in c and r[1][:2] == b'\xff\xff': r = r[0], struct.pack('<H', c['chain']) + r[1][2:]
            if 'sdr_delay_s' in c: return r[0], r[1], c['sdr_delay_s']
        return r
    def bridge(channel, address, n, cmd, data):
        o = c['controllers'].get('%d/%d' % (address, channel) if channel else str(address))
        if o is None: return None, 0x83
        if 'refused' in o: return None, o['refused']
        if a := answer_of(o, n, cmd): return a
        return readings_of(o).get(data[0], (0xcb, b'')) if (n, cmd) == (4, 0x2d) else (0xc1, b'')
    b = BMC(handler, delay=c.get('delay_s', 0), idle=c.get('idle_s'), max_sessions=c.get('max_sessions', 99), suites=tuple(c.get('suites', (1, 2, 3, 17))))
    if 'controllers' in c: b.bridge = bridge
    b.luns = {int(lun): std((0xc1, b''), [], readings_of({'readings': o})) for lun, o in c.get('luns', {}).items()}
    b.role_refused = c.get('role_refused', False)
    requests = [0]
    def on_packet(packet, address):
        in_session = packet[4] == 6 and packet[5] & 0x3f == 0
        requests[0] += in_session
        return 'drop' if in_session and requests[0] % c['lose'] == 0 else None
    if 'lose' in c: b.on_packet = on_packet
    print(b.port, flush=True)
    while True: time.sleep(60)
